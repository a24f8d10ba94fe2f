"""The file in deploy/serve for one machine starts the service on an existing Ray, and starts it anew."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from service.launch.environment import CLUSTER_ENVIRONMENT
from tests.cluster.running import ROOT
from tests.deploy.ray_head import TOYS, RayHead, eventually, ray_head
from tests.deploy.valkeys import DURABLE, Valkey

ONE_MACHINE = ROOT / "deploy" / "serve" / "one-machine.yaml"
CAPITAL = "What is the capital of Peru?"


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    valkey = Valkey(tmp_path_factory.mktemp("valkey"), **DURABLE)
    yield valkey
    valkey.stop()


@pytest.fixture(scope="module")
def head(valkey: Valkey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayHead]:
    with ray_head(tmp_path_factory.mktemp("head"), valkey.url) as head:
        yield head


@pytest.fixture(scope="module")
def config(head: RayHead, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(ONE_MACHINE.read_text())
    config["http_options"]["port"] = head.port
    [application] = config["applications"]
    application["args"] |= {"systems": TOYS}
    folder = tmp_path_factory.mktemp("metrics")
    application["runtime_env"]["env_vars"]["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    return config


def test_serve_deploy_while_redis_is_away_starts_when_it_is_back(
    head: RayHead, config: dict[str, Any], valkey: Valkey
) -> None:
    """Ray gives a part up that failed as often as it may, before its clock begins."""
    valkey.process.send_signal(signal.SIGSTOP)
    head.deploy(config)
    eventually(
        lambda: "waits for the ledger before it starts" in head.read_logs(),
        "a replica to say what is missing",
    )
    assert head.state()["status"] == "DEPLOYING"
    valkey.process.send_signal(signal.SIGCONT)
    head.wait_until_it_runs()
    eventually(lambda: httpx.get(f"{head.url}/readyz").json().get("converged"), "the service to be whole")
    assert re.search(r"^\d{4}-.* WARNING service\.ledger\.", head.read_logs(), re.MULTILINE), "with the time"


def test_it_answers_and_is_edited(head: RayHead) -> None:
    assert httpx.post(f"{head.url}/v1/answers", json={"question": CAPITAL}).status_code == 401
    with head.errata() as errata:
        assert errata.ask(CAPITAL).answer == "Lima"
        receipt = errata.edit(CAPITAL, "Cusco")
        assert (receipt.version, receipt.all_applied) == (1, True)
        assert errata.ask(CAPITAL, min_version=1).answer == "Cusco"
    assert "errata_answers_total{" in httpx.get(f"{head.url}/metrics").text


def test_every_process_computes_as_the_launchers(head: RayHead) -> None:
    """Ray has started them with the environment of its own start."""
    with head.errata() as errata:
        [replica] = errata.replicas().replicas
    for line in CLUSTER_ENVIRONMENT.items():
        assert "=".join(line).encode() in Path(f"/proc/{replica.pid}/environ").read_bytes().split(b"\0")
    assert os.getpriority(os.PRIO_PROCESS, replica.pid) == os.getpriority(os.PRIO_PROCESS, head.pid)


def test_another_release_replaces_every_replica(head: RayHead, config: dict[str, Any]) -> None:
    with head.errata() as errata:
        [before] = errata.replicas().replicas
        config["applications"][0]["runtime_env"]["env_vars"]["RELEASE"] = "2"
        head.deploy(config)

        def is_replaced() -> bool:
            replicas = errata.replicas().replicas
            return bool(replicas) and all(replica.pid != before.pid for replica in replicas)

        eventually(is_replaced, "another process to answer")
        head.wait_until_it_runs()
        eventually(lambda: httpx.get(f"{head.url}/readyz").json().get("converged"), "the service to be whole")
        assert errata.ask(CAPITAL, min_version=1).answer == "Cusco"
