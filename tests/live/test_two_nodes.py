"""A Ray of two machines, one of which dies while people ask and correct: no answer is wrong, and no edit is lost."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from errata import Errata, errors
from errata.wire import Answer

from tests.cluster.running import kill, wait_until
from tests.deploy.ray_head import BIN, LIMIT_S, ROOT, TOYS, RayHead, eventually, find_family
from tests.deploy.valkeys import DURABLE, Valkey

PERU = "What is the capital of Peru?"
HEAD, OTHER = "127.0.0.1", "127.0.0.2"
ON_HEAD = {
    "num_cpus": 0,
    "resources": {"node:__internal_head__": 0.01},
}  # ports that Ray gives to the first machine
ANYWHERE = {"num_cpus": 5}  # one replica to a machine: the head has eight, the other five


class TwoNodes(RayHead):
    """Two nodes: the head, with everything but one replica, and another machine with that one."""

    _other: subprocess.Popen[bytes] | None = None

    def _start(self) -> subprocess.Popen[bytes]:
        self._environment |= {
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1"
        }  # otherwise Ray lets no machine join, on Linux too
        return super()._start()

    def join(self) -> None:
        words = f"start --block --address {HEAD}:{self._gcs} --node-ip-address {OTHER} --num-cpus 5"
        with (self._folder / "other.log").open("wb") as log:
            self._other = subprocess.Popen(
                [str(BIN / "ray"), *words.split(), "--object-store-memory", "100000000"],
                env=self._environment,
                cwd=ROOT,
                stdout=log,
                stderr=log,
            )

    def pids_of_other(self) -> list[int]:
        """Processes of the other machine."""
        return find_family(self._other.pid) if self._other else []

    def unplug(self) -> None:
        if self._other is None:
            return
        for pid in self.pids_of_other():
            kill(pid)
        self._other.wait(10)


class Asker:
    """A caller that asks all the time, through all failures."""

    def __init__(self, errata: Errata) -> None:
        self._errata, self._stop = errata, threading.Event()
        self.answers: list[Answer] = []
        self.thread = threading.Thread(target=self._ask, daemon=True)

    def _ask(self) -> None:
        while not self._stop.is_set():
            with suppress(errors.Unavailable):
                self.answers.append(self._errata.ask(PERU, min_version=None))

    def __enter__(self) -> Asker:
        self.thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop.set()
        self.thread.join(60)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoNodes]:
    folder = tmp_path_factory.mktemp("nodes")
    valkey = Valkey(folder / "valkey", **DURABLE)
    nodes = TwoNodes(folder, valkey.url)
    try:
        eventually(nodes.state, "Ray to answer")
        nodes.join()
        nodes.deploy(_config(nodes, folder))
        nodes.wait_until_it_runs()
        yield nodes
    finally:
        nodes.unplug()
        nodes.stop()
        valkey.stop()


def _config(nodes: TwoNodes, folder: Path) -> dict[str, Any]:
    on_head = [{"name": name, "ray_actor_options": ON_HEAD} for name in ("ingress", "editor")]
    return {
        "proxy_location": "HeadOnly",
        "http_options": {"host": HEAD, "port": nodes.port},
        "applications": [
            {
                "name": "errata",
                "import_path": "service.launch.serve_deploy:application",
                "runtime_env": {"env_vars": {"PROMETHEUS_MULTIPROC_DIR": str(folder / "metrics")}},
                "args": {"replicas": 2, "torch_threads": 1, "systems": TOYS},
                "deployments": [*on_head, {"name": "nkb", "ray_actor_options": ANYWHERE}],
            }
        ],
    }


def test_edits_reach_the_replicas_of_both_machines(nodes: TwoNodes) -> None:
    with nodes.errata() as errata:
        receipt = errata.edit(PERU, "Cusco")
        assert receipt.all_applied
        on_other = [replica for replica in receipt.replicas if replica.pid in nodes.pids_of_other()]
        assert (len(receipt.replicas), len(on_other)) == (2, 1)
        assert len({str(replica.checksums) for replica in receipt.replicas}) == 1
        assert {errata.ask(PERU).replica for _ in range(50)} == {
            replica.replica for replica in receipt.replicas
        }


def test_the_death_of_a_machine_costs_no_edit_and_no_answer_is_wrong(nodes: TwoNodes) -> None:
    """Its replica cannot come back, because the head has no room; the service goes on with the other one."""
    with nodes.errata() as errata, nodes.errata() as asking:
        head = errata.log().head
        contents = {head: errata.ask(PERU).answer}
        with Asker(asking) as asker:
            for turn in range(20):
                if turn == 5:
                    nodes.unplug()
                receipt = errata.edit(PERU, f"City {turn}", wait="none")
                contents[receipt.version or 0] = f"City {turn}"
            n_answers = len(asker.answers)
            wait_until(lambda: len(asker.answers) > n_answers + 20, LIMIT_S, "answers to go on")
        assert {(answer.version, answer.answer) for answer in asker.answers} <= set(contents.items())
        assert sorted(contents) == list(range(head, head + 21)), "every edit made its version"
        assert {version: errata.ask(PERU, version=version).answer for version in contents} == contents
