"""How long a new replica takes to load the ledger, after 0, 1, 1,000 and 10,000 commits."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch

from models.memory import AnswerChange, Image, Material
from models.nkb.system import NkbSystem
from service.ledger.commit import Commit, EditRecord, Write, edit_order
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from service.replicas.snapshot import Loader
from tests.bench.questions import questions
from tests.bench.table import Row

SIZES = (0, 1, 1_000, 10_000)
ROUNDS = 3
SNAPSHOT_EVERY = 256


def rows() -> Iterator[Row]:
    system = NkbSystem.load()
    with (
        tempfile.TemporaryDirectory(prefix="errata-bench-") as name,
        EmbeddedValkey(Path(name) / "valkey") as valkey,
    ):
        taken = asyncio.run(_measured(valkey.url, system))
    for size, seconds in taken.items():
        extra = seconds - taken[0]
        bar = "<= 2" if size == SIZES[-1] else ""
        yield Row(
            f"start of a replica after {size:,} commits, more than with none",
            extra,
            bar,
            f"s; {seconds:.2f} s to have its memory",
        )


async def _measured(url: str, system: NkbSystem) -> dict[int, float]:
    ledger = RedisLedger.connect(url)
    taken, written = {}, _Written(ledger, system)
    for size in SIZES:
        await written.grow_to(size)
        taken[size] = statistics.median([await _start(url, size) for _ in range(ROUNDS)])
    await ledger.aclose()
    return taken


async def _start(url: str, version: int) -> float:
    """A fresh system each time: nothing that an earlier one compiled helps."""
    system = NkbSystem.load()
    ledger = RedisLedger.connect(url)
    started = time.perf_counter()
    snapshot = await Loader(ledger, system).at(version)
    assert snapshot.version == version
    taken = time.perf_counter() - started
    await ledger.aclose()
    return taken


class _Written:
    """A ledger of one gated edit a commit; each edit's rows are an earlier edit's, moved, so that none is equal."""

    def __init__(self, ledger: RedisLedger, system: NkbSystem) -> None:
        self._ledger = ledger
        self._image: Image = system.base
        self._memory = system.memory
        self._previous, self._version = "", 0
        corrections = [AnswerChange(f"{n:012x}", q, "Cusco") for n, q in enumerate(questions(8))]
        self._patterns: list[Material] = system.edit(corrections, "gated")

    async def grow_to(self, size: int) -> None:
        while self._version < size:
            await self._append(self._version + 1)

    async def _append(self, version: int) -> None:
        pattern = self._patterns[version % len(self._patterns)]
        edit, order = f"{version:012x}", edit_order(version, 0)
        keys = pattern.block.tensors["keys"] + 1e-3 * torch.randn(1)
        tensors = {**pattern.block.tensors, "keys": keys}
        block = replace(pattern.block, key=f"edit/{edit}", order=order, tensors=tensors)
        image = Image(self._image.base, {**self._image.blocks, block.key: block})
        entry = (block.key, order, block.digest)
        asked = f"question {version}"
        record = EditRecord(edit, "nkb", self._memory, asked, "Cusco", (), "gated", block.digest, order)
        commit = Commit(
            version, "edit", "bench", time.time(), "", (record,), (edit,), (),
            writes={self._memory: Write(image.checksum, (entry,))}, previous=self._previous,
        )  # fmt: skip
        await self._ledger.append(commit, [block])
        self._image, self._previous, self._version = image, commit.digest, version
        if version % SNAPSHOT_EVERY == 0:
            await self._ledger.put_image(version, {self._memory: image})
