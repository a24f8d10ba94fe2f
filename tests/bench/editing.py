"""The time of an edit by part, and how long until every replica answers the new way."""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from errata import Errata

from models.packs.pack import Pack
from tests.bench.processes import errata
from tests.bench.questions import questions
from tests.bench.table import Row
from tests.bench.timing import percentile

EDITS = 100


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name, errata(Path(name), 2) as url:
        key = (Path(name) / "var" / "admin.key").read_text().strip()
        with Errata(url, key=key) as client:
            yield from _measured(client)


def _measured(client: Errata) -> Iterator[Row]:
    answers = sorted({item.answer for item in Pack.load().items()})
    receipts = []
    for place, question in enumerate(questions(EDITS, seed=21)):
        receipts.append(client.edit(question, answers[(37 * place) % len(answers)]))
    for part in ("editor_ms", "report_ms", "commit_ms", "replicas_ms"):
        taken = [getattr(receipt.report.timings, part) for receipt in receipts]
        yield Row(
            f"an edit: {part.removesuffix('_ms')}", statistics.median(taken), "", f"ms, median of {EDITS}"
        )
    waits = [r.report.timings.replicas_ms for r in receipts if r.all_applied]
    note = f"ms, {len(waits)} of {EDITS} commits confirmed by all of 2 replicas"
    yield Row("propagation after commit, p99", percentile(waits, 0.99), "<= 50", note)
