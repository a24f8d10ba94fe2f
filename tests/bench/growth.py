"""The cost of active edits for a replica, the editor and callers: memory, start, time of a question and of an edit.

`python -m tests.bench.growth 1000 10000 --keep FOLDER` measures other sizes; the ledgers stay in FOLDER for
the next time. Each figure is taken in a process that does nothing else, without Ray and HTTP.
"""

import argparse
import asyncio
import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import torch
from errata.wire import EditRequest

from models.nkb.system import NkbSystem
from models.scope.active import ActiveEdits
from models.scope.candidates import MIN_COSINE
from models.system import Ask
from models.training.scope.facts import FILE as FACTS
from service.editing.editor import Editor
from service.editing.operations import Edit
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.snapshots import read_newer
from service.ledger.store import RedisLedger
from service.replicas.snapshot import Snapshot, SnapshotHistory, SnapshotLoader
from tests.bench.bank import BANK, load_nkb
from tests.bench.many_edits_ledger import SINGLE_COMMITS, draw_corrections, prepare
from tests.bench.table import Row, show
from tests.bench.timing import percentile
from tests.service.parts import settings, start_deployment

SIZES = (1_000, 10_000)
HISTORY = 8  # versions that a replica keeps for pins, as the service does
FAR_QUESTIONS = 300
SINGLE_EDITS, REQUEST_SIZE = 24, 1_000
MEMORY_BAR, START_BAR, P50_BAR, P99_BAR, MANY_BAR = "<= 200", "<= 5", "<= 3", "<= 8", "<= 5"
EDIT_BARS = {1_000: "<= 70", 10_000: "<= 90", 100_000: "<= 150"}


def rows(sizes: Sequence[int] = SIZES, keep: Path | None = None) -> Iterator[Row]:
    """Measure each size in turn.

    Args:
        sizes: Numbers of active edits.
        keep: Folder where the ledgers stay; None deletes them.
    """
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name:
        folder = keep or Path(name)
        none = _measure("editor", folder / "ledger-0", 0)
        for size in sizes:
            prepare(folder / f"ledger-{size}", size)
            yield from _describe_replica(size, _measure("replica", folder / f"ledger-{size}", size))
            yield from _describe_editor(size, none, _measure("editor", folder / f"ledger-{size}", size))


def _measure(part: str, ledger: Path, size: int) -> Mapping[str, Any]:
    """Run one part in a process with a copy of the ledger, and return its figures."""
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name:
        if ledger.is_dir():
            shutil.copytree(ledger, Path(name) / "valkey", ignore=shutil.ignore_patterns("*.sock"))
        command = [sys.executable, "-m", "tests.bench.growth", "--part", part, name, str(size)]
        output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    figures: Mapping[str, Any] = json.loads(output.splitlines()[-1])
    return figures


def _describe_replica(size: int, figures: Mapping[str, Any]) -> Iterator[Row]:
    milliseconds = figures["added_ms"]
    yield Row(f"replica with {size:,} edits, memory above none", figures["memory_mb"], MEMORY_BAR, "MB")
    yield Row(f"replica with {size:,} edits, longer start", figures["start_s"], START_BAR, "s")
    yield Row(
        f"{size:,} edits: next commit in a replica", statistics.median(figures["follow_ms"]), "", "ms, p50"
    )
    for name, share, bar in (("p50", 0.5, P50_BAR), ("p99", 0.99, P99_BAR)):
        note = f"ms; {len(milliseconds)} questions near no edit"
        yield Row(
            f"{size:,} edits: added time of a question, {name}",
            percentile(milliseconds, share),
            bar,
            note,
        )


def _describe_editor(size: int, none: Mapping[str, Any], figures: Mapping[str, Any]) -> Iterator[Row]:
    memory_mb, start_s = (figures[name] - none[name] for name in ("memory_mb", "start_s"))
    yield Row(f"editor with {size:,} edits, memory above none", memory_mb, MEMORY_BAR, "MB")
    yield Row(f"editor with {size:,} edits, longer start", start_s, "", "s")
    edits = figures["edit_ms"]
    note = f"ms in the editor, p50 of {len(edits)}; p99 {percentile(edits, 0.99):.0f}"
    yield Row(f"{size:,} edits: one more", statistics.median(edits), EDIT_BARS.get(size, ""), note)
    yield Row(f"{size:,} edits: 1,000 more in a request", figures["many_s"], MANY_BAR, "s in the editor")


async def measure_replica(url: str) -> dict[str, Any]:
    """Load all but the last commits, follow these one by one, and ask."""
    system, memory = load_nkb()
    ledger = RedisLedger.connect(url)
    loader = SnapshotLoader(ledger, [memory])
    history = SnapshotHistory(loader, HISTORY)
    _ask(system, await loader.at(0))
    none_mb, start, head = _memory_mb(), time.perf_counter(), await ledger.head()
    snapshot = await loader.at(head - SINGLE_COMMITS)
    _ask(system, snapshot)
    start_s = time.perf_counter() - start
    follow_ms = []
    for commit in await read_newer(ledger, snapshot.version, snapshot.digest):
        start = time.perf_counter()
        snapshot = await loader.after(snapshot, [commit])
        history.add(snapshot)
        follow_ms.append(1e3 * (time.perf_counter() - start))
        _ask(system, snapshot)
    figures = {"memory_mb": _memory_mb() - none_mb, "start_s": start_s, "follow_ms": follow_ms}
    await ledger.aclose()
    return {**figures, "added_ms": _time_far_questions(system, snapshot.views[BANK].active_edits)}


def _ask(system: NkbSystem, snapshot: Snapshot) -> None:
    system.answer([Ask("What is the capital of Peru?")], [snapshot.views])


@torch.inference_mode()
def _time_far_questions(system: NkbSystem, edits: ActiveEdits) -> list[float]:
    """Return the milliseconds that active edits add to each question that is far from every edit."""
    reader, milliseconds = system.reader, []
    for question in _far_questions(system, edits):
        readings = reader.read([question]).readings
        start = time.perf_counter()
        reader.scope.match(readings, [edits])
        milliseconds.append(1e3 * (time.perf_counter() - start))
    return milliseconds


@torch.inference_mode()
def _far_questions(system: NkbSystem, edits: ActiveEdits) -> list[str]:
    facts = [json.loads(line) for line in FACTS.read_text().splitlines()]
    questions = [text for fact in facts for text in (*fact["same"], *(near for _, near in fact["near"]))]
    vectors = (system.reader.read([text]).readings.vectors for text in questions)
    n_near = [len(edits.table.near(vector, MIN_COSINE)[0]) for vector in vectors]
    return [text for text, count in zip(questions, n_near, strict=True) if not count][:FAR_QUESTIONS]


async def measure_editor(url: str, var: Path, size: int) -> dict[str, Any]:
    """Start the editor, make edits one by one, and then many in one request."""
    start = time.perf_counter()
    options = settings(url, var, systems={"nkb": "models.nkb.system:load"}, torch_threads=os.cpu_count() or 1)
    corrections = draw_corrections(size + SINGLE_EDITS + 1 + REQUEST_SIZE)[size:]
    async with start_deployment(Editor, options) as editor:
        await editor._warm_up_task
        start_s = time.perf_counter() - start
        await _edit(editor, corrections[:1])
        seconds = [await _edit(editor, [correction]) for correction in corrections[1 : SINGLE_EDITS + 1]]
        memory_mb = _memory_mb()
        many_s = await _edit(editor, corrections[SINGLE_EDITS + 1 :])
    edit_ms = [1e3 * second for second in seconds]
    return {"memory_mb": memory_mb, "start_s": start_s, "edit_ms": edit_ms, "many_s": many_s}


async def _edit(editor: Editor, corrections: Sequence[tuple[str, str]]) -> float:
    edits = [{"question": question, "answer": answer} for question, answer in corrections]
    start = time.perf_counter()
    outcome = await editor.call(
        Edit(EditRequest.model_validate({"edits": edits, "wait": "none", "skip_refused": True}), "bench")
    )
    assert outcome.status in (201, 409, 422), outcome.body
    return time.perf_counter() - start


def _memory_mb() -> float:
    gc.collect()
    return float(psutil.Process().memory_full_info().uss / 2**20)


@contextmanager
def _serve(folder: Path) -> Iterator[str]:
    with EmbeddedValkey(folder / "valkey") as valkey:
        yield valkey.url


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what active edits cost.")
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES), help="numbers of active edits")
    parser.add_argument("--keep", type=Path, help="folder where the ledgers stay for the next time")
    parser.add_argument("--part", nargs=3, metavar=("PART", "FOLDER", "SIZE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(os.cpu_count() or 1)
    if arguments.part:
        part, folder, size = arguments.part
        with _serve(Path(folder)) as url:
            replica = part == "replica"
            figures = asyncio.run(
                measure_replica(url) if replica else measure_editor(url, Path(folder), int(size))
            )
            print(json.dumps(figures))
        return
    show(list(rows(arguments.sizes, arguments.keep)))


if __name__ == "__main__":
    main()
