"""What edits cost, one and many."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from errata import Errata
from errata.wire import EditItem, EditReceipt, EditRequest

from models.memory import AnswerChange
from models.packs.pack import Pack
from models.system import Ask
from service.editing.editor import Editor
from service.editing.operations import Edit, GetVersion
from service.ledger.embedded.server import EmbeddedValkey
from tests.bench.bank import build_gated, load_nkb, read_bank
from tests.bench.overhttp import keep_asking
from tests.bench.processes import run_errata
from tests.bench.questions import questions
from tests.bench.table import Row
from tests.bench.timing import measure_cost, percentile
from tests.service.parts import settings, start_deployment

EDITS, CALLERS = 200, 8
PARTS = ("editor_ms", "report_ms", "commit_ms", "replicas_ms")


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name, run_errata(Path(name), 2) as server:
        key = (Path(name) / "var" / "admin.key").read_text().strip()
        with Errata(server.url, key=key) as client:
            receipts = _make_edits(client, seed=21)
            for part in PARTS:
                milliseconds = [getattr(receipt.report.timings, part) for receipt in receipts]
                name = part.removesuffix("_ms")
                yield Row(f"an edit: {name}", statistics.median(milliseconds), "", f"ms, median of {EDITS}")
            yield _describe_propagation("propagation after commit, p99", receipts)
            with keep_asking(f"{server.url}/v1/answers", CALLERS):
                yield _describe_propagation(
                    f"the same while {CALLERS} callers ask", _make_edits(client, seed=22)
                )


def _make_edits(client: Errata, seed: int) -> list[EditReceipt]:
    """Make edits and return a receipt for each; every question gets the answer of another one."""
    answers = sorted({item.answer for item in Pack.load().items()})
    numbered_questions = enumerate(questions(EDITS, seed))
    return [
        client.edit(question, answers[(37 * place + seed) % len(answers)])
        for place, question in numbered_questions
    ]


def _describe_propagation(name: str, receipts: list[EditReceipt]) -> Row:
    waits = [r.report.timings.replicas_ms for r in receipts if r.all_applied]
    usual = f"p50 {percentile(waits, 0.5):.1f}, p95 {percentile(waits, 0.95):.1f}"
    note = f"ms, {usual}; {len(waits)} of {EDITS} commits confirmed by all of 2 replicas"
    return Row(name, percentile(waits, 0.99), "<= 50", note)


def report_rows() -> Iterator[Row]:
    """Measure edits back to back in process, and when the last of their reports is complete."""
    yield from asyncio.run(_measure_reports(_draw_corrections(PER_REQUEST + EDITS)))


async def _measure_reports(corrections: Sequence[tuple[str, str]]) -> list[Row]:
    with tempfile.TemporaryDirectory() as name, EmbeddedValkey(Path(name) / "valkey") as server:
        options = settings(server.url, Path(name), systems={"nkb": "models.nkb.system:load"}, torch_threads=2)
        async with start_deployment(Editor, options) as editor:

            async def commit(pairs: Sequence[tuple[str, str]], wait_report: bool) -> float:
                edits = [EditItem(question=question, answer=answer) for question, answer in pairs]
                request = EditRequest(edits=edits, wait="none", wait_report=wait_report, skip_refused=True)
                start = time.perf_counter()
                await editor.call(Edit(request, "bench", None))
                return time.perf_counter() - start

            await commit(corrections[:PER_REQUEST], wait_report=True)
            seconds = [await commit([pair], wait_report=False) for pair in corrections[PER_REQUEST:]]
            start = time.perf_counter()
            while (await editor.call(GetVersion(1 + len(seconds), True))).body.count(b'"measuring"'):
                pass
            rest = time.perf_counter() - start
    name = f"an edit back to back with {PER_REQUEST:,} active, p50"
    return [
        Row(name, 1e3 * statistics.median(seconds), "<= 70", f"ms, in process; {EDITS} edits"),
        Row(f"reports of {EDITS} edits complete after the last", rest, "<= 2", "s, in process"),
    ]


PER_REQUEST, N_ACTIVE, N_SINGLE = 1_000, 10_000, 60
BATCH, PAIRS = 32, 40


def many_rows() -> Iterator[Row]:
    corrections = _draw_corrections(N_ACTIVE + 2 * N_SINGLE + 1)
    yield _measure_answers(corrections[:N_ACTIVE])
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name, run_errata(Path(name), 1) as server:
        key = (Path(name) / "var" / "admin.key").read_text().strip()
        with Errata(server.url, key=key, timeout_s=300) as client:
            first, *further = (
                corrections[start : start + PER_REQUEST] for start in range(0, N_ACTIVE, PER_REQUEST)
            )
            rest = corrections[N_ACTIVE:]
            _time_edits(client, rest[-1:])  # it waits until the editor has read its data
            seconds = [_time_edits(client, first)]
            yield _measure_single_edits(client, rest[:N_SINGLE], PER_REQUEST, "<= 100")
            seconds += [_time_edits(client, batch) for batch in further]
            yield _describe_batches(seconds)
            yield _measure_single_edits(client, rest[N_SINGLE:-1], N_ACTIVE, "<= 500")


def _draw_corrections(count: int) -> list[tuple[str, str]]:
    """Draw real questions, each with the answer of another one."""
    answers = sorted({item.answer for item in Pack.load().items()})
    return [(question, answers[37 * n % len(answers)]) for n, question in enumerate(questions(count, 31))]


def _time_edits(client: Errata, corrections: Sequence[tuple[str, str]]) -> float:
    edits = [EditItem(question=question, answer=answer) for question, answer in corrections]
    start = time.perf_counter()
    client.edit_many(edits, skip_refused=True)
    return time.perf_counter() - start


def _measure_single_edits(
    client: Errata, corrections: Sequence[tuple[str, str]], active: int, bar: str
) -> Row:
    milliseconds = [1e3 * _time_edits(client, [correction]) for correction in corrections]
    name = f"an edit with {active:,} active, p50"
    return Row(
        name,
        statistics.median(milliseconds),
        bar,
        f"ms, until the replicas have it; {len(milliseconds)} edits",
    )


def _describe_batches(seconds: Sequence[float]) -> Row:
    comment = f"s, until the replicas have it; {len(seconds)} requests, the slowest {max(seconds):.1f}"
    return Row("1,000 edits in one request, p50", statistics.median(seconds), "<= 10", comment)


def _measure_answers(corrections: Sequence[tuple[str, str]]) -> Row:
    """Measure batches of 32 of the edited questions, at both versions in turn."""
    system, memory = load_nkb()
    materials = build_gated(memory, [AnswerChange(str(n), *pair) for n, pair in enumerate(corrections)])
    ordered_materials = [replace(m, block=replace(m.block, order=n)) for n, m in enumerate(materials)]
    base, after = read_bank(memory), read_bank(memory, ordered_materials)
    asks = [Ask(question) for question in questions(BATCH, 77)]
    sides = {
        "edited": lambda: system.answer(asks, [after] * BATCH),
        "base": lambda: system.answer(asks, [base] * BATCH),
    }
    share = 1 / (1 + measure_cost(sides, PAIRS) / 100)
    return Row("answers a second with 10,000 edits, of those with none", share, ">= 0.9", "batches of 32")
