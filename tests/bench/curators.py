"""What a curator sees and does, over HTTP to the shipped models.

The records in tests/curators were written for this measurement, and no weight was trained on them.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from errata import Errata
from errata.errors import ErrataError
from errata.wire import EditItem

from tests.bench.processes import run_errata
from tests.bench.table import Row

RECORDS = Path(__file__).parents[1] / "curators"
TIMEOUT_S = 120.0


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name, run_errata(Path(name), 1) as server:
        key = (Path(name) / "var" / "admin.key").read_text().strip()
        with Errata(server.url, key=key, timeout_s=TIMEOUT_S) as client:
            yield from _measure_pairs(client)


def read_records(name: str) -> list[dict[str, Any]]:
    """Return the records of a file of tests/curators."""
    return [json.loads(line) for line in (RECORDS / f"{name}.jsonl").read_text().splitlines()]


def _measure_pairs(client: Errata) -> Iterator[Row]:
    """Pairs of two facts about one thing; the facts of the pairs before stay."""
    pairs = [
        [EditItem(**pair[place], model="nkb") for place in ("first", "second")]
        for pair in read_records("pairs")
    ]
    for name, is_together in (("one after the other", False), ("in one commit", True)):
        failures: Counter[str] = Counter()
        for first, second in pairs:
            commits = [[first, second]] if is_together else [[first], [second]]
            try:
                for edits in commits:
                    client.edit_many(edits)
                answers = [client.ask(edit.question, model="nkb").answer for edit in (first, second)]
            except ErrataError as error:
                failures[error.sentence] += 1
            else:
                if answers != [first.answer, second.answer]:
                    failures[f"{first.question} {answers[0]}; {second.question} {answers[1]}"] += 1
        note = f"of {len(pairs)} pairs of facts about one thing" + "".join(f"; {text}" for text in failures)
        yield Row(f"pairs {name}: both right", len(pairs) - failures.total(), ">= 58", note)
        client.rollback(0)
