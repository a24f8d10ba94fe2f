"""The graph: an import and its size in Redis, linking of a million names, and reads of a large graph."""

import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import redis
from errata.wire import ImportOrder

from models.blocks import Delta
from models.graph.memory import GRAPH, GraphMemory
from models.graph.view import GraphView
from models.system import Ask
from models.systems import SYSTEMS
from service.config import Settings
from service.cores import count_cores
from service.editing.editor import Editor
from service.editing.operations import BeginImport, FeedImport, FinishImport
from service.graph.lookup import Lookup
from service.graph.rows import Rows
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.bench.table import Row
from tests.service.graph.linking.measure import measure

SMALL, LARGE = 10_000, 1_000_000
FACTS_EACH = 4
BATCH, ROUNDS = 32, 41
NAMES = 1_000_000
CHUNK = 1_000_000
WORDS = "stone river north south east west green blue old new great little fort saint upper lower mount lake bay hill"
RELATIONS = ("country", "population", "elevation", "founded in")


def rows() -> Iterator[Row]:
    yield from asyncio.run(_measure_graphs())
    figures = measure(NAMES)
    for name, figure in figures.items():
        bar = ">= 300000" if "chars" in name else ""
        yield Row(f"linking a million names: {name.replace('_', ' ')}", figure, bar)


async def _measure_graphs() -> list[Row]:
    with (
        tempfile.TemporaryDirectory(prefix="errata-bench-") as folder,
        EmbeddedValkey(Path(folder) / "small") as small,
        EmbeddedValkey(Path(folder) / "large") as large,
    ):
        await fill(small.url, Path(folder), make_facts(SMALL))
        before = _used_bytes(large.url)
        seconds, counts = await fill(large.url, Path(folder), make_facts(LARGE))
        bytes_each = (_used_bytes(large.url) - before) / counts["triples"]
        rate = counts["triples"] / seconds
        note = (
            f"triples a second from the first byte to the commit on one core; {counts['entities']:,} entities"
        )
        import_rows = [
            Row("import of a million triples", rate, ">= 40000", note),
            Row("Redis memory of a triple", bytes_each, "<= 250", "bytes, names and keys included"),
        ]
        return [*import_rows, *await _measure_reading(small.url, large.url)]


async def fill(
    url: str, folder: Path, facts: Iterable[tuple[str, str, str]], system: str = "kbert"
) -> tuple[float, dict[str, Any]]:
    """Import facts, and return the seconds that it took, and its counts.

    Args:
        url: URL of Redis.
        folder: Where the editor may keep files.
        facts: Triples by name.
        system: The system whose editor imports them.
    """
    file = folder / "facts.spo"
    file.write_text("".join(f"{s}\t{r}\t{o}\n" for s, r, o in facts), encoding="utf-8")
    settings = Settings(
        var=folder, redis_url=url, systems={system: SYSTEMS[system]}, admin_key_sha256="0" * 64
    ).share_cores(count_cores())
    cores = os.sched_getaffinity(0)
    async with _open_editor(settings) as editor:
        os.sched_setaffinity(0, {min(cores)})
        try:
            start = time.perf_counter()
            started_import = json.loads(
                (await editor.call(BeginImport(ImportOrder.model_validate({"format": "tsv"}), "bench"))).body
            )
            with file.open("rb") as data:
                while chunk := data.read(CHUNK):
                    await editor.call(FeedImport(started_import["id"], chunk))
            outcome = await editor.call(FinishImport(started_import["id"], "none"))
            seconds = time.perf_counter() - start
        finally:
            os.sched_setaffinity(0, cores)
    receipt = json.loads(outcome.body)
    assert outcome.status == 201, receipt
    return seconds, receipt["counts"]


@asynccontextmanager
async def _open_editor(settings: Settings) -> AsyncIterator[Editor]:
    editor = Editor.__new__(Editor)
    await editor.__init__(settings)  # type: ignore[misc]
    try:
        yield editor
    finally:
        await editor.aclose()


def make_facts(triples: int) -> Iterator[tuple[str, str, str]]:
    rng, words = random.Random(11), WORDS.split()
    for number in range(triples // FACTS_EACH):
        subject = make_subject(number, rng, words)
        for relation in RELATIONS:
            yield subject, relation, f"{rng.choice(words)} {rng.randrange(10_000)}"


def make_subject(number: int, rng: random.Random, words: list[str]) -> str:
    return f"{rng.choice(words).title()} {rng.choice(words).title()} {number}"


async def _measure_reading(small: str, large: str) -> list[Row]:
    """Measure batches of questions about entities that were not asked for before, in turns on the two graphs."""
    cold_seconds: dict[int, list[float]] = {SMALL: [], LARGE: []}
    warm_seconds: list[float] = []
    lookups = {SMALL: await open_lookup(small), LARGE: await open_lookup(large)}
    names = {
        size: [s for place, (s, _, _) in enumerate(make_facts(size)) if not place % FACTS_EACH]
        for size in cold_seconds
    }
    rng = random.Random(3)
    try:
        for number in range(ROUNDS + 1):
            for size, (lookup, view, _) in lookups.items():
                asks = [Ask(f"What is the population of {name}?") for name in rng.sample(names[size], BATCH)]
                seconds = await _time_lookup(lookup, view, asks)
                if number:
                    cold_seconds[size].append(seconds)
                    warm_seconds.append(await _time_lookup(lookup, view, asks))
    finally:
        for _, _, ledger in lookups.values():
            await ledger.aclose()
    medians = {size: statistics.median(seconds) for size, seconds in cold_seconds.items()}
    note = f"link, read and fold: {1e3 * medians[LARGE]:.1f} ms against {1e3 * medians[SMALL]:.1f} ms"
    warm_note = f"ms, both graphs; the same batch asked again ({ROUNDS} rounds)"
    return [
        Row(
            f"graph time of {BATCH} questions, a million triples against 10,000",
            medians[LARGE] / medians[SMALL],
            "<= 1.3",
            note,
        ),
        Row(
            f"graph time of {BATCH} questions, rows at hand",
            1e3 * statistics.median(warm_seconds),
            "",
            warm_note,
        ),
    ]


async def open_lookup(url: str) -> tuple[Lookup, GraphView, RedisLedger]:
    ledger, graph = RedisLedger.connect(url), GraphMemory.of()
    head = await ledger.head()
    commit = await ledger.get(head)
    blocks = await ledger.blocks(list(commit.writes[GRAPH].puts))
    lookup, view = Lookup(Rows(ledger.connection)), graph.view(graph.base.apply(Delta(tuple(blocks))))
    await lookup.prepare(view)
    return lookup, view, ledger


async def _time_lookup(lookup: Lookup, view: GraphView, asks: list[Ask]) -> float:
    start = time.perf_counter()
    batch = await lookup.retrieve_facts(asks, [view] * len(asks))
    seconds = time.perf_counter() - start
    assert all(isinstance(ask, Ask) and ask.mentions for ask in batch.asks), "every question has its entity"
    return seconds


def _used_bytes(url: str) -> int:
    with redis.Redis.from_url(url) as client:
        return int(client.info("memory")["used_memory"])
