"""The cost of a thousand and ten thousand active edits for the next edit and for questions."""

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from errata import Errata
from errata.wire import EditItem

from models.memory import AnswerChange
from models.packs.pack import Pack
from models.system import Ask
from tests.bench.bank import build_gated, load_nkb, read_bank
from tests.bench.processes import run_errata
from tests.bench.questions import questions
from tests.bench.table import Row
from tests.bench.timing import measure_cost

PER_REQUEST, N_ACTIVE, N_SINGLE = 1_000, 10_000, 60
BATCH, PAIRS = 32, 40


def rows() -> Iterator[Row]:
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
