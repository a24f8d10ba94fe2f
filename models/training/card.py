"""The model card: every number of the checkpoint, the command that prints it, and the limits of the numbers."""

import json
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from models.training.calibrate import calibration_error, curve, declined, wrong
from models.training.edits import EditFigures
from models.training.measure import Outcome, by_relation, share
from models.training.outcomes import Report, StageOutcomes

STAGES = ("no bank", "empty bank", "bank after injection")


def write_card(out: Path, report: Report) -> None:
    """Write README.md for people and measured.json for programs."""
    figures = collect_figures(report)
    (out / "measured.json").write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
    (out / "README.md").write_text("\n".join(_card(report, figures)) + "\n")


def collect_figures(report: Report) -> dict[str, float]:
    """Collect the figures that have a bar, in per cent or points."""
    after, before, confidence = report.after, report.before, report.confidence
    strangers = [o.grade for o in after.strangers_test]
    return {
        "base_trained": share(before.base_trained),
        "base_held": share(before.base_held),
        "injected_before_trained": share(before.injected_trained),
        "injected_before_held": share(before.injected_held),
        "injected_trained": share(after.injected_trained),
        "injected_held": share(after.injected_held),
        "base_trained_after": share(after.base_trained),
        "base_held_after": share(after.base_held),
        "unreplayed_trained_before": share(_exclude_replayed(report, before.base_trained)),
        "unreplayed_trained_after": share(_exclude_replayed(report, after.base_trained)),
        "unreplayed_held_before": share(_exclude_replayed(report, before.base_held)),
        "unreplayed_held_after": share(_exclude_replayed(report, after.base_held)),
        "calibration_error": calibration_error(confidence, after.testing()),
        "wrong_known": 100 * wrong(confidence, after.testing()),
        "declined_known": 100 * declined(confidence, after.testing()),
        "declined_strangers": 100 * declined(confidence, strangers),
        "seconds": report.seconds,
    }


def _exclude_replayed(report: Report, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes on base facts that injection never repeated."""
    lines = report.material.corpus.lines
    replayed_items = set(report.material.split.replayed_items)
    return [outcome for outcome in outcomes if lines[outcome.row].item not in replayed_items]


def _card(report: Report, figures: dict[str, float]) -> Iterator[str]:
    yield from _heading(report)
    yield from _claim(report)
    yield from _bars(report, figures)
    yield from _confidence(report)
    yield from _editing(report)
    yield from _guesses(report)


def _heading(report: Report) -> Iterator[str]:
    plan, pack = report.plan, report.pack
    yield f"# nkb: the default checkpoint ({time.strftime('%Y-%m-%d')})\n"
    yield f"T5's decoder ({plan.backbone.layers} layers, d = {plan.backbone.d_model}, {plan.backbone.vocab:,}"
    yield "byte-level pieces) on the frozen encoder all-MiniLM-L6-v2, with a Neural Knowledge Bank of"
    yield f"{plan.bank.size:,} slots beside decoder layer {plan.bank.layers[0]}. It answers short questions about the"
    yield f"facts of the pack `{pack.name}` {pack.version} and about nothing else; what it was taught"
    yield "may be out of date or wrong, and is there to be corrected.\n"
    yield f"Made by `make train` (seed {plan.seed}, {plan.threads} threads) on {platform.machine()}, Python"
    yield f"{platform.python_version()}; every number of the recipe stands in models/training/plan.py."
    yield f"It took {report.seconds / 60:.0f} minutes in all.\n"
    yield "All shares are exact match of free greedy generation that stops by itself, in per cent.\n"


def _claim(report: Report) -> Iterator[str]:
    yield "## The paper's claim: facts injected into the bank alone, everything else frozen\n"
    yield "| | base, trained phrasing | base, held phrasing | injected, trained phrasing | injected, held phrasing |"
    yield "|---|---|---|---|---|"
    stages: tuple[StageOutcomes, ...] = (report.before, report.empty, report.after)
    for name, stage in zip(STAGES, stages, strict=True):
        columns = (stage.base_trained, stage.base_held, stage.injected_trained, stage.injected_held)
        yield f"| {name} | " + " | ".join(f"{share(c):.1f}" for c in columns) + " |"
    split = report.material.split
    n_base, n_injected = len(split.base), len(split.injected_items)
    yield f"\n{n_base:,} base facts, {n_injected:,} injected; one phrasing of each is asked. Held"
    yield "phrasings are those of a writer whom no phase and no choice has read.\n"


def _bars(report: Report, figures: dict[str, float]) -> Iterator[str]:
    yield "## Against the bars\n"
    yield "| figure | reached | bar |"
    yield "|---|---|---|"
    points_lost = figures["unreplayed_trained_before"] - figures["unreplayed_trained_after"]
    lost_held = figures["unreplayed_held_before"] - figures["unreplayed_held_after"]
    rows = (
        ("base facts, trained phrasings", f"{figures['base_trained']:.1f}", ">= 97"),
        ("base facts, held phrasings", f"{figures['base_held']:.1f}", ">= 88"),
        ("injected facts, trained phrasings", f"{figures['injected_trained']:.1f}", ">= 97"),
        ("injected facts, held phrasings", f"{figures['injected_held']:.1f}", ">= 85"),
        (
            "base facts never replayed, points lost by injection, trained phrasings",
            f"{points_lost:.1f}",
            "<= 1",
        ),
        ("the same, held phrasings", f"{lost_held:.1f}", ""),
        (
            "expected calibration error on held phrasings, points",
            f"{figures['calibration_error']:.1f}",
            "<= 5",
        ),
        ("held phrasings: wrong and not declined", f"{figures['wrong_known']:.1f}", "<= 3"),
        ("held phrasings: declined", f"{figures['declined_known']:.1f}", ""),
        ("questions about names the pack lacks declined", f"{figures['declined_strangers']:.1f}", ">= 70"),
    )
    yield from (f"| {name} | {value} | {bar} |" for name, value, bar in rows)
    yield f"\n{report.plan.n_unreplayed:,} base facts are never replayed; the loss is measured on them.\n"


def _confidence(report: Report) -> Iterator[str]:
    yield "By device and dtype: ../README.md.\n"
    yield "## When to say nothing\n"
    yield f"Answers scored below {report.confidence.threshold:.3f} are withheld (`answer: null`, reason `unsure`)."
    yield "Fitted on a writer's phrasings and on strangers that are there for choices, measured here on others.\n"
    yield "| threshold | answerable declined | answerable answered wrongly | strangers declined |"
    yield "|---|---|---|---|"
    strangers = [o.grade for o in report.after.strangers_test]
    for limit, *shares in curve(report.confidence, report.after.testing(), strangers):
        yield f"| {limit:.3f} | " + " | ".join(f"{100 * part:.1f}" for part in shares) + " |"
    yield ""


def _editing(report: Report) -> Iterator[str]:
    yield "## Editing\n"
    yield "Injected facts are given another answer of their relation, in one phrasing, all edits active at once."
    yield "The gates were not trained on these questions. An edit is refused when its method cannot make it; a"
    yield "refused edit and a withheld answer are failures in the first two shares. Locality: share of what would be"
    yield "said that stays, asked in held phrasings. In brackets: the questions that a share is measured on.\n"
    yield from edits_table(report.edits)
    yield ""


def edits_table(edits: Mapping[str, EditFigures]) -> Iterator[str]:
    stays = "same relation stays | same subject stays | others stay"
    yield f"| | refused | own question | held phrasings | {stays} | ms an edit |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, f in edits.items():
        shares = (f.reliability, f.generalisation, f.neighbours, f.same_subject, f.random)
        yield f"| {name} | {f.refused} | " + " | ".join(map(str, shares)) + f" | {f.milliseconds:.0f} |"


def _guesses(report: Report) -> Iterator[str]:
    yield "## By relation: what the model guesses of a fact before it is injected, and says after\n"
    yield "| relation | base held | injected facts | guessed before | after, trained | after, held |"
    yield "|---|---|---|---|---|---|"
    relation = report.material.relation_of_row
    tables = [
        by_relation(outcomes, relation)
        for outcomes in (
            report.before.base_held,
            report.before.injected_trained,
            report.after.injected_trained,
            report.after.injected_held,
        )
    ]
    for name, (_, base_held) in sorted(tables[0].items(), key=lambda row: row[1][1]):
        count = tables[1].get(name, (0, 0.0))[0]
        cells = [f"{table[name][1]:.0f}" if name in table else "" for table in tables[1:]]
        yield f"| {name} | {base_held:.0f} | {count} | " + " | ".join(cells) + " |"
