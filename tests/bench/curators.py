"""What a curator sees, over HTTP to the shipped models.

The records in tests/curators were written for this measurement, and no weight was trained on them.
"""

import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from errata import Errata
from errata.errors import ErrataError
from errata.wire import EditItem, FactItem, WhyReport

from models.packs.pack import Item, Pack
from tests.bench.processes import run_errata
from tests.bench.table import Row

RECORDS = Path(__file__).parents[1] / "curators"
TIMEOUT_S = 120.0
N_REASONS = 25  # answers of each kind whose reasons are read
SEED = 41
INVENTED_NAMES = (
    "Genovia",
    "Ruritania",
    "Wakanda",
    "Zubrowka",
    "Latveria",
    "Freedonia",
    "Gilead",
)  # from a reader's trial
RELATIONS = "What is the capital of {}?", "Which countries border {}?", "What is the currency of {}?"


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="errata-bench-") as name, run_errata(Path(name), 1) as server:
        key = (Path(name) / "var" / "admin.key").read_text().strip()
        with Errata(server.url, key=key, timeout_s=TIMEOUT_S) as client:
            yield from _measure_pairs(client)
            yield _measure_reasons(client)
            yield from _measure_examples(client)
            yield _measure_invented_names(client)


def read_records(name: str) -> list[dict[str, Any]]:
    """Return the records of a file of tests/curators."""
    return [json.loads(line) for line in (RECORDS / f"{name}.jsonl").read_text().splitlines()]


def _measure_pairs(client: Errata) -> Iterator[Row]:
    """Measure pairs of two facts about one thing; earlier pairs stay."""
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


def _measure_reasons(client: Errata) -> Row:
    """Ask both systems for reasons: of edits, of facts that edits made, of facts of the base, of learned answers."""
    items = [item for item in _draw_items(4 * N_REASONS) if client.ask(_ask_for(item), model="kbert").answer]
    corrections, triples, rest = items[:N_REASONS], items[N_REASONS : 2 * N_REASONS], items[2 * N_REASONS :]
    edits = [EditItem(question=_ask_for(item), answer="Tallwater", model="nkb") for item in corrections]
    facts = [
        FactItem(
            subject=item.subject.id, relation=item.relation.id, object="Tallwater", act="set", only="graph"
        )
        for item in triples
    ]
    wrong: list[str] = []
    for model, batch, group in (("nkb", edits, corrections), ("kbert", facts, triples)):
        receipt = client.edit_many(batch, message=f"ticket of {model}")
        for item, report in zip(group, receipt.report.edits, strict=True):
            causes = client.why(_ask_for(item), model=model).causes
            commits = [(cause.edit.id, cause.version, cause.message) for cause in causes]
            if commits != [(report.id, receipt.version, f"ticket of {model}")]:
                wrong.append(_ask_for(item))
    for item in rest[:N_REASONS]:
        learnt = client.why(_ask_for(item), model="nkb")
        if learnt.causes or learnt.facts or not _names_fact(client.why(_ask_for(item), model="kbert"), item):
            wrong.append(_ask_for(item))
    client.rollback(0)
    n_asked = 4 * N_REASONS
    note = f"of {n_asked} answers of nkb and kbert{''.join(f'; {question}' for question in wrong)}"
    return Row("why names the right edit or fact", n_asked - len(wrong), f">= {n_asked}", note)


def _draw_items(count: int) -> list[Item]:
    """Draw facts of the pack with one value."""
    items = [item for item in Pack.load().items() if ", " not in item.answer]
    return random.Random(SEED).sample(items, count)


def _ask_for(item: Item) -> str:
    return item.relation.question(item.subject.label)


def _names_fact(report: WhyReport, item: Item) -> bool:
    triples = [(fact.entity, fact.relation, fact.object) for fact in report.facts]
    return not report.causes and triples == [(item.subject.id, item.relation.id, item.answer)]


def _measure_examples(client: Errata) -> Iterator[Row]:
    """Measure edits with the near question itself as an example against each: refusals, and paraphrases that follow."""
    records = read_records("examples")
    n_taken = n_refused = n_taken_rewordings = n_kept_out = n_before = n_after = 0
    for record in records:
        texts = [record["near"], record["near_in_other_words"], *record["paraphrases"]]
        near, rewording, *followers = _teach_and_ask(client, record, [], texts)
        n_taken += near
        n_taken_rewordings += rewording
        n_before += sum(followers)
        near_after, rewording_after, *followers_after = _teach_and_ask(client, record, [texts[0]], texts)
        n_refused += not near_after
        n_kept_out += rewording and not rewording_after
        n_after += sum(after for before, after in zip(followers, followers_after, strict=True) if before)
    note = f"of {len(records)} near questions, {n_taken} of which the edits answer without an example"
    yield Row("examples against: near questions not answered", n_refused, ">= 38", note)
    yield Row(
        "examples against: paraphrases follow", 100 * n_after / max(1, n_before), ">= 95", f"%, of {n_before}"
    )
    yield Row(
        "examples against: the near question in other words refused",
        n_kept_out,
        "",
        f"of {n_taken_rewordings}",
    )


def _measure_invented_names(client: Errata) -> Row:
    """Count the known facts of other subjects that edits about invented countries would change, by dry runs."""
    changed: Counter[str] = Counter()
    for question in (relation.format(name) for name in INVENTED_NAMES for relation in RELATIONS):
        report = client.edit(question, "Strelsau", model="nkb", dry_run=True).report
        changed[question] = len(report.side_effects)
    worst, n_worst = max(changed.items(), key=lambda pair: pair[1])
    note = f"of 12,551 questions in {len(changed)} dry runs; most of {worst} ({n_worst})"
    return Row("edits about invented countries: other answers changed", changed.total(), "", note)


def _teach_and_ask(
    client: Errata, record: Mapping[str, Any], against: Sequence[str], texts: Sequence[str]
) -> list[bool]:
    """Make an edit, return which questions it answers, and take it back."""
    receipt = client.edit(record["question"], record["answer"], counterexamples=against, model="nkb")
    results = client.ask_many(texts, model="nkb").results
    client.revert(receipt.version or 0)
    return [result.answer is not None and result.answer.answer == record["answer"] for result in results]
