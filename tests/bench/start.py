"""How long a new replica takes to load the ledger after 0, 1, 1,000 and 10,000 commits."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch

from models.blocks import Image
from models.memory import AnswerChange, Material
from models.nkb.memory import BANK, BankMemory
from service.ledger.commit import Commit, EditRecord, Write, edit_order
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from service.replicas.snapshot import SnapshotLoader
from tests.bench.bank import build_gated, load_nkb
from tests.bench.questions import questions
from tests.bench.table import Row

SIZES = (0, 1, 1_000, 10_000)
ROUNDS = 3
SNAPSHOT_EVERY = 256


def rows() -> Iterator[Row]:
    _, memory = load_nkb()
    with (
        tempfile.TemporaryDirectory(prefix="errata-bench-") as name,
        EmbeddedValkey(Path(name) / "valkey") as valkey,
    ):
        loading = asyncio.run(_measure(valkey.url, memory))
    for size, seconds in loading.items():
        extra = seconds - loading[0]
        bar = "<= 2" if size == SIZES[-1] else ""
        yield Row(
            f"start of a replica after {size:,} commits, more than with none",
            extra,
            bar,
            f"s; {seconds:.2f} s to have its memory",
        )


async def _measure(url: str, memory: BankMemory) -> dict[int, float]:
    ledger = RedisLedger.connect(url)
    seconds, edits = {}, _Edits(ledger, memory)
    for size in SIZES:
        await edits.grow_to(size)
        seconds[size] = statistics.median([await _start(url, size) for _ in range(ROUNDS)])
    await ledger.aclose()
    return seconds


async def _start(url: str, version: int) -> float:
    """Measure a start with fresh memories, so that no compiled state of an earlier one helps."""
    _, memory = load_nkb()
    ledger = RedisLedger.connect(url)
    start = time.perf_counter()
    snapshot = await SnapshotLoader(ledger, [memory]).at(version)
    assert snapshot.version == version
    seconds = time.perf_counter() - start
    await ledger.aclose()
    return seconds


class _Edits:
    """A ledger of one gated edit a commit; each edit has the moved rows of an earlier one, so that no two are equal."""

    def __init__(self, ledger: RedisLedger, memory: BankMemory) -> None:
        self._ledger = ledger
        self._image: Image = memory.base
        self._previous, self._version = "", 0
        changes = [AnswerChange(f"{n:012x}", q, "Cusco") for n, q in enumerate(questions(8))]
        self._patterns: list[Material] = build_gated(memory, changes)

    async def grow_to(self, size: int) -> None:
        while self._version < size:
            await self._append(self._version + 1)

    async def _append(self, version: int) -> None:
        pattern = self._patterns[version % len(self._patterns)]
        edit, order = f"{version:012x}", edit_order(version, 0)
        strengths = pattern.block.tensors["strengths"] + 1e-3 * torch.randn(1)
        tensors = {**pattern.block.tensors, "strengths": strengths}
        block = replace(pattern.block, key=f"edit/{edit}", order=order, tensors=tensors)
        image = Image(self._image.base, {**self._image.blocks, block.key: block})
        entry = (block.key, order, block.digest)
        question = f"question {version}"
        record = EditRecord(edit, "nkb", BANK, question, "Cusco", (), "gated", block.digest, order)
        commit = Commit(
            version, "edit", "bench", time.time(), "", (record,), (edit,), (),
            writes={BANK: Write(image.checksum, (entry,))}, previous=self._previous,
        )  # fmt: skip
        await self._ledger.append(commit, [block])
        self._image, self._previous, self._version = image, commit.digest, version
        if version % SNAPSHOT_EVERY == 0:
            await self._ledger.put_manifest(version, {BANK: image})
