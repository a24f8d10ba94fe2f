"""The figures of an exam: measured.json for programs, README.md for people."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from models.training.kit import card as harness
from models.training.kit.card import percent, table
from models.training.thu_ernie.edits import measure_edits, measure_together
from models.training.thu_ernie.exam import (
    HITS,
    Examiner,
    Outcome,
    miscalibration,
    rank_all,
    relation_shares,
    share,
    switch_links_off,
)
from models.training.thu_ernie.plan import Plan

N_ABSENT = 5  # questions of each relation for a missing fact
N_UNLINKED = 6  # questions of each relation without links
WORST = 12  # relations that the card lists


def measure(plan: Plan, examiner: Examiner) -> dict[str, Any]:
    """Return all figures of a checkpoint."""
    inquiries = examiner.draw("test", plan.n_exam)
    outcomes = examiner.put(inquiries)
    ambiguous = [o for o in outcomes if len(o.reading.alignment.entries) > 1]
    without_links = examiner.put(switch_links_off(examiner.draw("test", min(plan.n_exam, N_UNLINKED))))
    absent = examiner.put(examiner.draw_absent("test", N_ABSENT))
    strange = examiner.put(examiner.draw_strange("test", len(absent)))
    first, five = rank_all(examiner, inquiries)
    return {
        "neighbours": _figures(outcomes),
        "neighbours, two or more": _figures(ambiguous),
        "links off": _figures(without_links),
        "all answers": {"n": len(inquiries), "hits@1": first, "hits@5": five},
        "absent, declined": percent(o.answer is None for o in absent),
        "strange, declined": percent(o.answer is None for o in strange),
        "calibration error": miscalibration([*outcomes, *absent, *strange]),
        "by relation": relation_shares(outcomes),
        "edits of rows": measure_edits(examiner, plan.n_edits, plan.seed),
        "edits together": measure_together(examiner, plan.n_joint_edits, plan.seed),
    }


def write_card(folder: Path, measures: dict[str, Any], seconds: float, size: int) -> None:
    """Write measured.json and README.md into a checkpoint folder."""
    harness.write_card(folder, measures, _lines(measures, seconds, size))


def _figures(outcomes: list[Outcome]) -> dict[str, float]:
    answers = [outcome for outcome in outcomes if outcome.answer is not None]
    return {
        "n": len(outcomes),
        "hits@1": share(outcomes),
        f"hits@{HITS}": share(outcomes, HITS),
        "answered": percent(outcome.answer is not None for outcome in outcomes),
        "right of answered": share(answers),
    }


def _lines(measures: dict[str, Any], seconds: float, size: int) -> Iterator[str]:
    yield "# thu-ernie: the default checkpoint\n"
    yield "A THU-ERNIE whose T-Encoder starts from MiniLM; `python -m models.training.thu_ernie`, every number of the"
    yield f"recipe in models/training/thu_ernie/plan.py, {seconds / 60:.0f} minutes of steps, {size / 1e6:.1f} MB."
    yield "Rows of entities are TransE's. The test asks in the words of a writer whom training has not read.\n"
    kinds = ("neighbours", "neighbours, two or more", "links off", "all answers")
    keys = ("n", "hits@1", f"hits@{HITS}", "answered", "right of answered")
    rows = ([name, *(measures[name].get(key, "") for key in keys)] for name in kinds)
    yield from table(f"entity answers | {' | '.join(keys)}", rows)
    yield f"Questions for a fact that is not there: {measures['absent, declined']} % declined; for a relation that no"
    yield f"fact has and no training asked for: {measures['strange, declined']} %. Calibration error with both:"
    yield f"{measures['calibration error']} points.\n"
    edits = measures["edits of rows"]
    yield f"{edits['n']} edits of rows, each alone: {edits['follow']} % answered the new way; the new object wins"
    yield f"against the old one in {edits['wins']} % (with the old row: {edits['wins_before']} %). Of"
    yield f"{edits['n_others']} other facts of these entities {edits['stable']} % keep their answer."
    joint = measures["edits together"]
    yield f"{joint['n']} edits in force together: {joint['follow']} % answered the new way, and of"
    yield f"{joint['n_unedited']} questions about other entities {joint['unedited_same']} % keep their answer.\n"
    worst = list(measures["by relation"].items())[:WORST]
    yield f"Worst relations (hits@1): {', '.join(f'{relation} {value}' for relation, value in worst)}."
