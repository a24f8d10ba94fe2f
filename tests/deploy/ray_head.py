"""A Ray on this machine as an operator starts it, and the commands with which a service is put on it."""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml
from errata import Errata, Retry
from errata.errors import ErrataError

from service.launch.environment import CLUSTER_ENVIRONMENT
from tests.cluster.running import ROOT, clean_environment, kill, parent, processes, quiet_port

TOKEN = "t" * 64
KEY = "a-key-for-the-tests-of-a-cluster"
TOYS = {"nkb": "tests.service.toy:load_toy"}
LIMIT_S = 150.0
GONE_S = 60.0
BIN = Path(sys.executable).parent


class RayHead:
    """url: of the service, when one is deployed. more_words: for `ray start`, of which the last of a kind counts."""

    more_words: tuple[str, ...] = ()

    def __init__(self, folder: Path, redis_url: str) -> None:
        self._folder, self._temp = (
            folder,
            Path(tempfile.mkdtemp(prefix="ray-")),
        )  # Ray's sockets need short paths
        self._gcs, self.dashboard, self.port = quiet_port(), quiet_port(), quiet_port()
        self.url = f"http://127.0.0.1:{self.port}"
        (folder / "key").write_text(KEY)
        self._environment = (
            dict(clean_environment())
            | CLUSTER_ENVIRONMENT
            | {
                "ERRATA_REDIS_URL": redis_url,
                "ERRATA_ADMIN_KEY_FILE": str(folder / "key"),
                "RAY_AUTH_MODE": "token",
                "RAY_AUTH_TOKEN": TOKEN,
                "RAY_USAGE_STATS_ENABLED": "0",
                "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            }
        )
        self._process = self._start()

    @property
    def pid(self) -> int:
        """The process id of the command that started Ray."""
        return self._process.pid

    def _start(self) -> subprocess.Popen[bytes]:
        words = f"""start --head --block --node-ip-address 127.0.0.1 --port {self._gcs} --num-cpus 8
            --dashboard-port {self.dashboard} --dashboard-agent-listen-port {quiet_port()}
            --object-store-memory 100000000 --temp-dir {self._temp} --disable-usage-stats"""
        with (self._folder / "ray.log").open("ab") as log:
            return subprocess.Popen(
                [str(BIN / "ray"), *words.split(), *self.more_words],
                env=self._environment,
                cwd=ROOT,
                stdout=log,
                stderr=log,
            )

    def serve(self, *words: str) -> str:
        """Return the output of the command. `-a`: the address of Ray's own API."""
        process = subprocess.run(
            [str(BIN / "serve"), *words, "-a", f"http://127.0.0.1:{self.dashboard}"],
            env=self._environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    def deploy(self, config: dict[str, Any]) -> None:
        path = self._folder / "serve.yaml"
        path.write_text(yaml.safe_dump(config))
        self.serve("deploy", str(path))

    def state(self) -> dict[str, Any]:
        """Return the state of the application, as `serve status` does, which takes seconds to start."""
        applications: dict[str, Any] = self.describe()["applications"]
        return applications.get("errata", {"status": "NOT_STARTED"})

    def describe(self) -> dict[str, Any]:
        """Return Serve's description of all that it runs."""
        headers = {"authorization": f"Bearer {TOKEN}"}
        reply = httpx.get(
            f"http://127.0.0.1:{self.dashboard}/api/serve/applications/", headers=headers, timeout=30
        )
        description: dict[str, Any] = reply.raise_for_status().json()
        return description

    def read_logs(self) -> str:
        """Return the logs of all the service's processes."""
        files = self._temp.glob("session_*/logs/worker-*.err")
        return "\n".join(path.read_text(errors="replace") for path in files)

    def wait_until_it_runs(self) -> None:
        def over() -> bool:
            status = self.state()
            assert status["status"] != "DEPLOY_FAILED", status["message"]
            return bool(status["status"] == "RUNNING")

        eventually(over, "the application to run")

    def errata(self) -> Errata:
        return Errata(self.url, key=KEY, retry=Retry(times=0))

    def die(self) -> None:
        """Kill all processes at once; if asked to end, Ray would wait half a minute for work that is not there."""
        family = find_family(self._process.pid)
        for pid in family:
            kill(pid)
        self._process.wait(60)
        deadline = time.monotonic() + GONE_S
        while any(map(is_running, family)) and time.monotonic() < deadline:
            time.sleep(0.05)  # a proxy that is shutting down still accepts connections, and resets them

    def stop(self) -> None:
        self.die()
        shutil.rmtree(self._temp, ignore_errors=True)


def is_running(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def find_family(ancestor: int) -> list[int]:
    """Return a process and all its descendants."""
    family, parents = [ancestor], {pid: parent(pid) for pid in processes()}
    for pid in family:
        family += [child for child, its in parents.items() if its == pid]
    return family


@contextmanager
def ray_head(folder: Path, redis_url: str) -> Iterator[RayHead]:
    head = RayHead(folder, redis_url)
    try:
        eventually(head.state, "Ray to answer")
        yield head
    finally:
        head.stop()


def eventually(condition: Any, description: str, limit_s: float = LIMIT_S) -> None:
    """An error is not yet an answer: while a part starts anew, Ray lets a call wait for it, or answers 500 itself."""
    deadline, last_error = time.monotonic() + limit_s, ""
    while True:
        try:
            if condition():
                return
        except (httpx.HTTPError, ErrataError) as error:
            last_error = f"; at last: {error}"
        assert time.monotonic() < deadline, f"waited {limit_s:g} s for {description}{last_error}"
        time.sleep(0.2)
