"""The model card: every number of the checkpoint, the command that prints it, and the limits of the numbers."""

import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.confidence import Confidence
from models.packs.pack import Pack
from models.training.calibrate import GradedAnswer, calibration_error, curve, declined, wrong
from models.training.edits import EditFigures
from models.training.kit import card as harness
from models.training.kit.card import table
from models.training.material import Material
from models.training.measure import Outcome, by_relation, share
from models.training.plan import Plan


@dataclass(frozen=True)
class StageOutcomes:
    """Outcomes of one stage: base or injected facts, by trained, tuning or held phrasings; and names the pack lacks."""

    base_trained: list[Outcome]
    base_tuning: list[Outcome]
    base_held: list[Outcome]
    injected_trained: list[Outcome]
    injected_tuning: list[Outcome]
    injected_held: list[Outcome]
    strangers_tune: list[Outcome]
    strangers_test: list[Outcome]

    def tuning(self) -> list[GradedAnswer]:
        """Return the grades on which confidence is fitted: one tuning phrasing of each fact."""
        return [outcome.grade for outcome in self.base_tuning + self.injected_tuning]

    def testing(self) -> list[GradedAnswer]:
        """Return the grades on which confidence is measured: one held phrasing of each fact."""
        return [outcome.grade for outcome in self.base_held + self.injected_held]


@dataclass(frozen=True)
class Report:
    """Everything that the card reports; `before` is without a bank, `empty` with a new one, `after` the injection."""

    plan: Plan
    pack: Pack
    material: Material
    before: StageOutcomes
    empty: StageOutcomes
    after: StageOutcomes
    confidence: Confidence
    edits: dict[str, EditFigures]
    seconds: float


STAGES = ("no bank", "empty bank", "bank after injection")


def write_card(out: Path, report: Report) -> None:
    """Write README.md for people and measured.json for programs."""
    figures = collect_figures(report)
    harness.write_card(out, figures, _card(report, figures))


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
    rows = []
    for name, stage in zip(STAGES, (report.before, report.empty, report.after), strict=True):
        columns = (stage.base_trained, stage.base_held, stage.injected_trained, stage.injected_held)
        rows.append([name, *(f"{share(column):.1f}" for column in columns)])
    kinds = " | ".join(
        f"{fact}, {words} phrasing" for fact in ("base", "injected") for words in ("trained", "held")
    )
    yield from table(f"| {kinds}", rows)
    split = report.material.split
    n_base, n_injected = len(split.base), len(split.injected_items)
    yield f"{n_base:,} base facts, {n_injected:,} injected; one phrasing of each is asked. Held"
    yield "phrasings are those of a writer whom no phase and no choice has read.\n"


def _bars(report: Report, figures: dict[str, float]) -> Iterator[str]:
    yield "## Against the bars\n"
    points_lost, held_lost = (
        figures[f"unreplayed_{words}_before"] - figures[f"unreplayed_{words}_after"]
        for words in ("trained", "held")
    )
    rows = (
        ("base facts, trained phrasings", figures["base_trained"], ">= 97"),
        ("base facts, held phrasings", figures["base_held"], ">= 88"),
        ("injected facts, trained phrasings", figures["injected_trained"], ">= 97"),
        ("injected facts, held phrasings", figures["injected_held"], ">= 85"),
        ("base facts never replayed, points lost by injection, trained phrasings", points_lost, "<= 1"),
        ("the same, held phrasings", held_lost, ""),
        ("expected calibration error on held phrasings, points", figures["calibration_error"], "<= 5"),
        ("held phrasings: wrong and not declined", figures["wrong_known"], "<= 3"),
        ("held phrasings: declined", figures["declined_known"], ""),
        ("questions about names the pack lacks declined", figures["declined_strangers"], ">= 70"),
    )
    yield from table("figure | reached | bar", ((name, f"{value:.1f}", bar) for name, value, bar in rows))
    yield f"{report.plan.n_unreplayed:,} base facts are never replayed; the loss is measured on them.\n"


def _confidence(report: Report) -> Iterator[str]:
    yield "By device and dtype: ../README.md.\n"
    yield "## When to say nothing\n"
    yield f"Answers scored below {report.confidence.threshold:.3f} are withheld (`answer: null`, reason `unsure`)."
    yield "Fitted on a writer's phrasings and on strangers that are there for choices, measured here on others.\n"
    strangers = [o.grade for o in report.after.strangers_test]
    rows = curve(report.confidence, report.after.testing(), strangers)
    yield from table(
        "threshold | answerable declined | answerable answered wrongly | strangers declined",
        ([f"{limit:.3f}", *(f"{100 * part:.1f}" for part in shares)] for limit, *shares in rows),
    )


def _editing(report: Report) -> Iterator[str]:
    yield "## Editing\n"
    yield "Injected facts are given another answer of their relation, in one phrasing, all edits active at once."
    yield "The gates were not trained on these questions. An edit is refused when its method cannot make it; a"
    yield "refused edit and a withheld answer are failures in the first two shares. Locality: share of what would be"
    yield "said that stays, asked in held phrasings. In brackets: the questions that a share is measured on.\n"
    yield from edits_table(report.edits)


def edits_table(edits: Mapping[str, EditFigures]) -> Iterator[str]:
    """Yield a row for each method."""
    stays = "same relation stays | same subject stays | others stay"
    rows = ([name, f.refused, *map(str, f.shares()), f"{f.milliseconds:.0f}"] for name, f in edits.items())
    return table(f"| refused | own question | held phrasings | {stays} | ms an edit", rows)


def _guesses(report: Report) -> Iterator[str]:
    yield "## By relation: what the model guesses of a fact before it is injected, and says after\n"
    relation = report.material.relation_of_row
    groups = [
        by_relation(outcomes, relation)
        for outcomes in (
            report.before.base_held,
            report.before.injected_trained,
            report.after.injected_trained,
            report.after.injected_held,
        )
    ]
    rows = (
        [name, f"{base_held:.0f}", groups[1].get(name, (0, 0.0))[0]]
        + [f"{group[name][1]:.0f}" if name in group else "" for group in groups[1:]]
        for name, (_, base_held) in sorted(groups[0].items(), key=lambda row: row[1][1])
    )
    yield from table(
        "relation | base held | injected facts | guessed before | after, trained | after, held", rows
    )
