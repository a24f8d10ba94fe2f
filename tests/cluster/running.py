"""A whole service as a person runs it: `python -m service` in a process of its own, found again by its children."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
from errata import Errata, Retry

TOY = "nkb=tests.service.toy:load_toy"
READY_LIMIT_S = 240.0  # Ray may be started several times on a busy machine
STOP_LIMIT_S = 40.0
QUIET_PORTS = (20_000, 30_000)
ROOT = Path(__file__).parents[2]


class Service:
    """start() returns when it is ready. `var` outlives it, so another can go on from there. words: further options."""

    def __init__(
        self,
        var: Path,
        *,
        replicas: int = 1,
        system: str = TOY,
        port: int | None = None,
        words: Sequence[str] = (),
        python: str = sys.executable,
    ) -> None:
        self.var, self.port, self._python = var, port or quiet_port(), python
        self._words = [
            "--port",
            str(self.port),
            "--var",
            str(var),
            "--replicas",
            str(replicas),
            "--system",
            system,
            *words,
        ]
        self._process: subprocess.Popen[str] | None = None
        self.output = var.with_name(f"{var.name}.out")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def key(self) -> str:
        return (self.var / "admin.key").read_text().strip()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def launch(self, **environment: str) -> subprocess.Popen[str]:
        with self.output.open("w") as output:
            self._process = subprocess.Popen(
                [self._python, "-m", "service", *self._words],
                cwd=ROOT,
                env=clean_environment() | environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        return self._process

    def start(self, **environment: str) -> Service:
        process = self.launch(**environment)
        deadline = time.monotonic() + READY_LIMIT_S
        while "Ctrl-C stops" not in self.read_output():
            assert process.poll() is None, f"it ended: {self.read_output()}"
            assert time.monotonic() < deadline, f"not ready in time: {self.read_output()}"
            time.sleep(0.1)
        return self

    def read_output(self) -> str:
        return self.output.read_text()

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        """Stop the service and return its exit status; fail unless every process that it started is gone."""
        assert self._process is not None
        family = self.family()
        self._process.send_signal(how)
        status = self._process.wait(STOP_LIMIT_S)
        wait_until(lambda: not [pid for pid in family if alive(pid)], 60, "all of its processes to end")
        return status

    def kill_everything(self) -> None:
        """Kill all processes at once, as a power cut does."""
        assert self._process is not None
        if self._process.poll() is not None:
            return
        family = self.family()
        for pid in family:
            kill(pid)
        wait_until(lambda: not [pid for pid in family if alive(pid)], 60, "all of its processes to end")
        self._process.wait(60)

    def launcher_dies(self) -> None:
        kill(self.pid)
        assert self._process is not None
        self._process.wait(60)

    def family(self) -> list[int]:
        """Return the launcher and all its descendants."""
        parents = {pid: parent(pid) for pid in processes()}
        family = [self.pid]
        for pid in family:
            family += [child for child, its in parents.items() if its == pid]
        return family

    def pids_of(self, title: str) -> list[int]:
        """Return members of the family by a part of their command line, e.g. `ServeReplica:errata:nkb`."""
        return [pid for pid in self.family() if title in command_line(pid)]

    def errata(self, **options: Any) -> Errata:
        options = {"key": self.key, "retry": Retry(times=0)} | options
        return Errata(self.url, **options)

    def http(self, key: bool = True) -> httpx.Client:
        headers = {"authorization": f"Bearer {self.key}"} if key else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False)

    def wait_until_ready(self) -> None:
        with self.http() as http:
            wait_until(lambda: _is_well(http), 180, "the service to be ready again")


def quiet_port() -> int:
    """Return a free port outside of the system's own range, from which Ray's connections get theirs."""
    for port in random.sample(range(*QUIET_PORTS), 100):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("a hundred ports are taken")


def clean_environment() -> Mapping[str, str]:
    """Return the environment without variables for another Redis, another key or another Ray cluster."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("ERRATA_", "RAY_"))
    }
    return environment | {"PYTHONPATH": f"{ROOT}:{ROOT / 'clients' / 'python'}"}


def wait_until(condition: Any, limit_s: float, description: str) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {limit_s:g} s for {description}"
        time.sleep(0.05)


def _is_well(http: httpx.Client) -> bool:
    """Return whether all replicas have the newest version, by the ledger itself; /readyz may lag for some seconds."""
    try:
        ready, replicas = http.get("/readyz"), http.get("/admin/replicas")
    except httpx.HTTPError:
        return False
    if ready.status_code != 200 or replicas.status_code != 200 or not ready.json()["converged"]:
        return False
    live = replicas.json()["replicas"]
    counts = {model: part["live"] for model, part in ready.json()["models"].items()}
    return len(live) == sum(counts.values()) and all(part["healthy"] and not part["lag"] for part in live)


def kill(pid: int, how: signal.Signals = signal.SIGKILL) -> None:
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        return


def processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def alive(pid: int) -> bool:
    return _stat(pid)[0] not in ("", "Z")


def parent(pid: int) -> int:
    return int(_stat(pid)[1] or 0)


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _stat(pid: int) -> list[str]:
    """State and parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[:2]
    except OSError:
        return ["", ""]
