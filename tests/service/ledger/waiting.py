"""Waits for a server of the tests, and finds ports for it."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable
from contextlib import suppress

HOST = "127.0.0.1"
QUIET_PORTS = 20_000, 32_000
START_LIMIT_S = 120.0


def until(true: Callable[[], bool], limit_s: float = START_LIMIT_S) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, "the servers did not get there in time"
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
