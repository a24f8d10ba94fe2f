"""The file in deploy/serve for one machine starts the service on a Ray that is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from tests.cluster.running import ROOT
from tests.deploy.declared import TOYS, RayHead, eventually, ray_head
from tests.deploy.valkeys import DURABLE, Valkey

ONE_MACHINE = ROOT / "deploy" / "serve" / "one-machine.yaml"
CAPITAL = "What is the capital of Peru?"


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayHead]:
    folder = tmp_path_factory.mktemp("head")
    valkey = Valkey(folder / "valkey", **DURABLE)
    try:
        with ray_head(folder, valkey.url) as head:
            yield head
    finally:
        valkey.stop()


def test_serve_deploy_starts_a_service_that_answers_and_is_edited(head: RayHead, tmp_path: Path) -> None:
    config = yaml.safe_load(ONE_MACHINE.read_text())
    config["http_options"]["port"] = head.port
    [application] = config["applications"]
    application["args"] |= {"systems": TOYS}
    application["runtime_env"]["env_vars"]["PROMETHEUS_MULTIPROC_DIR"] = str(tmp_path / "metrics")
    head.deploy(config)
    head.wait_until_it_runs()
    eventually(lambda: httpx.get(f"{head.url}/readyz").status_code == 200, "the service to be ready")
    assert httpx.post(f"{head.url}/v1/answers", json={"question": CAPITAL}).status_code == 401
    with head.errata() as errata:
        assert errata.ask(CAPITAL).answer == "Lima"
        receipt = errata.edit(CAPITAL, "Cusco")
        assert (receipt.version, receipt.all_applied) == (1, True)
        assert errata.ask(CAPITAL, min_version=1).answer == "Cusco"
    assert "errata_answers_total{" in httpx.get(f"{head.url}/metrics").text
