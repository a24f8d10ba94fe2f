"""A service on a laptop must not be open to the network, because Ray's own ports run code."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

from tests.cluster.running import Service

LISTENING = "0A"


def sockets_of(pid: int) -> set[str]:
    inodes = set()
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(handle.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    return inodes


def listeners(inodes: set[str]) -> list[tuple[str, int]]:
    """Return addresses and ports, from the kernel's own table (the address is little-endian words in hexadecimal)."""
    places = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            place, state, inode = (line.split()[i] for i in (1, 3, 9))
            if state == LISTENING and inode in inodes:
                address, _, port = place.partition(":")
                words = [bytes.fromhex(address[i : i + 8])[::-1] for i in range(0, len(address), 8)]
                places.append((str(ip_address(b"".join(words))), int(port, 16)))
    return places


def test_every_port_is_on_the_loopback_address(service: Service) -> None:
    inodes = set().union(*(sockets_of(pid) for pid in service.family()))
    places = listeners(inodes)
    assert ("127.0.0.1", service.port) in places
    loopback = ("127.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::1")
    assert [place for place in places if place[0] not in loopback] == []
