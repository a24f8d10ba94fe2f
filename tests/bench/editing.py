"""The time of an edit by part, and the time until every replica gives the new answer."""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from errata import Errata
from errata.wire import EditReceipt

from models.packs.pack import Pack
from tests.bench.overhttp import keep_asking
from tests.bench.processes import run_errata
from tests.bench.questions import questions
from tests.bench.table import Row
from tests.bench.timing import percentile

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
