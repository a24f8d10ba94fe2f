"""Writers of ledgers, in this process and others, and waiting for them."""

import hashlib
import os
import random
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from models.blocks import Block, Image
from service.ledger import fold
from service.ledger.commit import Commit, EditRecord, Kind, Write, edit_order
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger


def pid_of(server: EmbeddedValkey) -> int:
    assert server.pid is not None
    return server.pid


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while running(pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert not running(pid)


def running(pid: int) -> bool:
    """Return whether a process is neither gone nor a zombie, with all its threads."""
    try:
        dead = "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
        return not dead or len(list(Path(f"/proc/{pid}/task").iterdir())) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Stop a process, which keeps its sockets and locks and does not answer."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        if running(pid):
            os.kill(pid, signal.SIGCONT)


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


AUTHOR = "ana"
SLOTS, SUMS = "toy/slots", "toy/sums"
BASES = {memory: Image("sha256:" + hashlib.sha256(memory.encode()).hexdigest()) for memory in (SLOTS, SUMS)}


@lru_cache(10_000)
def rows(name: str, width: int = 8) -> Tensor:
    """Rows that depend on the name alone."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    return torch.randn(2, width, generator=torch.Generator().manual_seed(seed))


def slot(edit: EditRecord) -> Block:
    return _slot(edit.id, edit.order)


@lru_cache(10_000)
def _slot(id: str, order: int) -> Block:
    return Block.of(f"edit/{id}", order, "gated", {"rows": rows(id)})


def fold_edits(active: Sequence[EditRecord]) -> dict[str, Image]:
    """Return the memories with these edits active, computed from the edits alone."""
    sums: dict[int, Tensor] = {}
    for edit in active:
        row = edit.order % 3
        sums[row] = sums.get(row, torch.zeros(2, 8)) + rows(edit.id) * 1e-3
    slots = {block.key: block for block in map(slot, active)}
    values = {f"value/{row}": Block.of(f"value/{row}", row, "value", {"v": v}) for row, v in sums.items()}
    return {SLOTS: Image(BASES[SLOTS].base, slots), SUMS: Image(BASES[SUMS].base, values)}


class SlotMemory:
    """The part of a memory that loading needs."""

    name, base = SLOTS, BASES[SLOTS]

    def view(self, image: object) -> object:
        return image


@dataclass
class Writer:
    """A writer that knows all commits and the images that they lead to; it makes the next one."""

    commits: list[Commit] = field(default_factory=list)
    history: list[dict[str, Image]] = field(default_factory=lambda: [dict(BASES)])
    name: str = "w"

    def edit(self, count: int = 1) -> tuple[Commit, list[Block]]:
        version = len(self.commits) + 1
        edits = tuple(self._record(version, index) for index in range(count))
        return self._make("edit", edits, tuple(edit.id for edit in edits), ())

    def revert(self, target: int) -> tuple[Commit, list[Block]]:
        change = fold.revert(self.commits, target)
        return self._make("revert", (), change.activates, change.deactivates, target)

    def revert_edits(self, ids: Sequence[str]) -> tuple[Commit, list[Block]]:
        change = fold.revert_edits(self.commits, ids)
        return self._make("revert", (), change.activates, change.deactivates)

    def rollback(self, target: int) -> tuple[Commit, list[Block]]:
        change = fold.rollback(self.commits, target)
        return self._make("rollback", (), change.activates, change.deactivates, target)

    def _record(self, version: int, index: int) -> EditRecord:
        order = edit_order(version, index)
        question, name = f"¿{version}, {index}?", f"{self.name}{version:05}x{index:03}"
        record = EditRecord(
            name, "toy", SLOTS, question, "Lima", ("other",), "gated", "", order, {"slot": index}
        )
        return replace(record, material=slot(record).digest)

    def _make(
        self,
        kind: Kind,
        edits: tuple[EditRecord, ...],
        activates: tuple[str, ...],
        deactivates: tuple[str, ...],
        target: int | None = None,
    ) -> tuple[Commit, list[Block]]:
        version = len(self.commits) + 1
        previous = self.commits[-1].digest if self.commits else ""
        bare = Commit(
            version,
            kind,
            AUTHOR,
            0.5 + version,
            "why",
            edits,
            activates,
            deactivates,
            target,
            previous=previous,
        )
        after = fold_edits(list(fold.active([*self.commits, bare]).values()))
        writes, blocks = _writes(self.history[-1], after)
        commit = replace(bare, writes=writes, report={"changed": [version], "ms": 1.25})
        self.commits.append(commit)
        self.history.append(after)
        return commit, blocks


def _writes(before: dict[str, Image], after: dict[str, Image]) -> tuple[dict[str, Write], list[Block]]:
    writes: dict[str, Write] = {}
    blocks: list[Block] = []
    for memory, image in after.items():
        delta = before[memory].delta_to(image)
        if delta:
            puts = tuple((block.key, block.order, block.digest) for block in delta.puts)
            writes[memory] = Write(image.checksum, puts, delta.removes)
            blocks += delta.puts
    return writes, blocks


async def fill(ledger: RedisLedger, count: int) -> Writer:
    """Return a ledger with `count` edits, one a commit."""
    writer = Writer()
    for _ in range(count):
        await ledger.append(*writer.edit())
    return writer


async def write_and_read(url: str) -> None:
    """Append to the ledger of an address, and read the same back."""
    ledger = RedisLedger.connect(url)
    try:
        writer = await fill(ledger, 2)
        assert await ledger.read(0) == writer.commits
    finally:
        await ledger.aclose()
