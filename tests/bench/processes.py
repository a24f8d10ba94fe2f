"""Servers of the bench: started on free ports of this machine, and ended by their process id."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

READY_S = 180.0
ROOT = Path(__file__).parents[2]


class Server(NamedTuple):
    url: str
    pid: int


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def run_python(args: list[str], ready_url: str, log: Path, tree: Path = ROOT) -> Iterator[int]:
    """Runs `python WORDS` with the code in `tree` until the block ends. Yields its pid when `ready_url` answers."""
    environment = {**os.environ, "PYTHONPATH": f"{tree}:{tree / 'clients' / 'python'}"}
    with log.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, *args],
            cwd=tree,
            env=environment,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        _wait_until_ready(process, ready_url, log)
        yield process.pid
    finally:
        os.kill(process.pid, signal.SIGINT)
        try:
            process.wait(40)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_until_ready(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended at once; its log is {log}")
        try:
            urllib.request.urlopen(url, timeout=2).close()
        except (OSError, urllib.error.URLError):
            time.sleep(0.3)
        else:
            return
    raise RuntimeError(f"{url} did not answer in {READY_S:g} s; the log is {log}")


@contextmanager
def run_errata(folder: Path, replicas: int, *options: str, tree: Path = ROOT) -> Iterator[Server]:
    """Run the service on the folder, with the code in `tree`."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    args = ["-m", "service", "--port", str(port), "--var", str(folder / "var"), "--replicas", str(replicas)]
    args += options
    with run_python(args, f"{url}/readyz", folder / "errata.log", tree) as pid:
        yield Server(url, pid)


@contextmanager
def run_litserve(folder: Path) -> Iterator[Server]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with run_python(["-m", "tests.bench.peer", str(port)], f"{url}/health", folder / "litserve.log") as pid:
        yield Server(url, pid)
