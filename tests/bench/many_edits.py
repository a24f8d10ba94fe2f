"""What a thousand and ten thousand active edits cost: whoever makes the next one, and whoever asks."""

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
from tests.bench.processes import errata
from tests.bench.questions import questions
from tests.bench.table import Row
from tests.bench.timing import cost

TOGETHER, MOST, SINGLE = 1_000, 10_000, 60
BATCH, PAIRS = 32, 40


def rows() -> Iterator[Row]:
    corrections = _corrections(MOST + 2 * SINGLE + 1)
    yield _answers(corrections[:MOST])
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name, errata(Path(name), 1) as server:
        key = (Path(name) / "var" / "admin.key").read_text().strip()
        with Errata(server.url, key=key, timeout_s=300) as client:
            first, *others = (corrections[start : start + TOGETHER] for start in range(0, MOST, TOGETHER))
            rest = corrections[MOST:]
            _seconds(client, rest[-1:])  # it waits for what the editor reads once, at its start
            taken = [_seconds(client, first)]
            yield _single(client, rest[:SINGLE], TOGETHER, "<= 100")
            taken += [_seconds(client, some) for some in others]
            yield _batches(taken)
            yield _single(client, rest[SINGLE:-1], MOST, "<= 500")


def _corrections(count: int) -> list[tuple[str, str]]:
    """Real questions, each with the answer of another one."""
    answers = sorted({item.answer for item in Pack.load().items()})
    return [(question, answers[37 * n % len(answers)]) for n, question in enumerate(questions(count, 31))]


def _seconds(client: Errata, corrections: Sequence[tuple[str, str]]) -> float:
    edits = [EditItem(question=question, answer=answer) for question, answer in corrections]
    started = time.perf_counter()
    client.edit_many(edits, skip_refused=True)
    return time.perf_counter() - started


def _single(client: Errata, corrections: Sequence[tuple[str, str]], active: int, bar: str) -> Row:
    taken = [1e3 * _seconds(client, [one]) for one in corrections]
    what = f"an edit with {active:,} active, p50"
    return Row(what, statistics.median(taken), bar, f"ms, until the replicas have it; {len(taken)} edits")


def _batches(taken: Sequence[float]) -> Row:
    comment = f"s, until the replicas have it; {len(taken)} requests, the slowest {max(taken):.1f}"
    return Row("1,000 edits in one request, p50", statistics.median(taken), "<= 10", comment)


def _answers(corrections: Sequence[tuple[str, str]]) -> Row:
    """Batches of 32 of the edited questions themselves, at both versions in turn."""
    system, memory = load_nkb()
    materials = build_gated(memory, [AnswerChange(str(n), *pair) for n, pair in enumerate(corrections)])
    ordered = [replace(m, block=replace(m.block, order=n)) for n, m in enumerate(materials)]
    base, after = read_bank(memory), read_bank(memory, ordered)
    asks = [Ask(question) for question in questions(BATCH, 77)]
    sides = {
        "edited": lambda: system.answer(asks, [after] * BATCH),
        "base": lambda: system.answer(asks, [base] * BATCH),
    }
    share = 1 / (1 + cost(sides, PAIRS) / 100)
    return Row("answers a second with 10,000 edits, of those with none", share, ">= 0.9", "batches of 32")
