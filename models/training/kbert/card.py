"""The model card: every number of the checkpoint, the command that prints it, and the limits of the numbers."""

import platform
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from models.confidence import calibration_error
from models.kbert.system import KbertSystem
from models.training.kbert.exam import Exam
from models.training.kbert.plan import Plan
from models.training.kbert.prepare import Setup
from models.training.kbert.questions import Outcome, by_relation, share, share_declined
from models.training.kit import card as harness
from models.training.kit.card import table

BARS = (  # figures with a bar, and their words for a reader
    ("entities", "facts of entities never seen in training, exact match", ">= 95"),
    ("phrasings", "phrasings never seen, exact match", ">= 90"),
    ("phrasings_wrong", "phrasings never seen, wrong and not declined", "<= 2"),
    ("relations", "relations never seen, exact match", ">= 80"),
    ("absent_declined", "fact not in the graph, others of the entity are: no answer", ">= 90"),
    ("strangers_declined", "names that the graph lacks: no answer", ">= 90"),
    ("answered", "answerable questions that get an answer", ">= 95"),
    ("edits", "triple replaced at run time: the new object is the answer", ">= 97"),
    ("calibration_error", "expected calibration error, points", "<= 5"),
)
SHARES = (  # sets of the exam whose share of right answers is a figure
    *("entities", "entities_crowded", "both_new", "phrasings", "phrasings_crowded", "relations"),
    *("relations_crowded", "edits", "choices_linked", "choices_plain"),
)
THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Report:
    """Everything that the card reports; `seconds` are those of the whole training, over all its runs."""

    plan: Plan
    setup: Setup
    system: KbertSystem
    exam: Exam
    seconds: float


def write_card(out: Path, report: Report) -> None:
    """Write README.md for people and measured.json for programs."""
    figures = measure(report)
    harness.write_card(out, figures, _card(report, figures))


def measure(report: Report) -> dict[str, float]:
    """Return the figures in per cent or points."""
    exam = report.exam
    plain = {name: share(getattr(exam, name)) for name in SHARES}
    answerable = exam.entities + exam.phrasings
    rest = {
        "absent_declined": share_declined(exam.absent),
        "absent_crowded_declined": share_declined(exam.absent_crowded),
        "absent_unseen_declined": share_declined(exam.absent_unseen),
        "absent_unseen_crowded_declined": share_declined(exam.absent_unseen_crowded),
        "strangers_declined": share_declined(exam.strangers),
        "phrasings_wrong": share(exam.phrasings, _is_wrong),
        "answered": 100 - share_declined(answerable),
        "answered_crowded": 100 - share_declined(exam.entities_crowded + exam.phrasings_crowded),
        "answered_relations": 100 - share_declined(exam.relations),
        "answered_relations_crowded": 100 - share_declined(exam.relations_crowded),
        "calibration_error": _error(exam.phrasings + exam.both_new + exam.absent),
        "calibration_error_relations": _error(exam.relations + exam.absent_unseen),
        "seconds": report.seconds,
    }
    return plain | rest


def _is_wrong(outcome: Outcome) -> bool:
    return outcome.reply.answer is not None and not outcome.is_right


def bars(figures: Mapping[str, float]) -> Iterator[str]:
    """Yield the table of figures and bars; a missed bar is marked."""
    rows = []
    for name, text, bar in BARS:
        limit = float(bar[3:])
        is_met = figures[name] >= limit if bar.startswith(">=") else figures[name] <= limit
        rows.append((text, f"{figures[name]:.1f}", bar if is_met else f"{bar} **missed**"))
    yield from table("figure | reached | bar", rows)


def _error(outcomes: list[Outcome]) -> float:
    is_right = [outcome.reply.best == outcome.question.expected for outcome in outcomes]
    return calibration_error([outcome.reply.score for outcome in outcomes], is_right)


def _card(report: Report, figures: dict[str, float]) -> Iterator[str]:
    yield from _heading(report)
    yield "## Against the bars\n"
    yield from bars(figures)
    yield from _sets(report, figures)
    yield from _silence(report)
    yield from _ablation(report)
    yield from _relations(report)


def _heading(report: Report) -> Iterator[str]:
    plan, pack = report.plan, report.setup.pack
    yield f"# kbert: the default checkpoint ({time.strftime('%Y-%m-%d')})\n"
    split = report.setup.relations
    practice = sum(relation.is_practice for relation in split.train.values())
    yield "K-BERT on the frozen encoder all-MiniLM-L6-v2, with low-rank adapters (rank"
    yield f"{plan.lora_rank}, layers {plan.frozen_layers + 1} to 6), a pointer, a ranker of pairs and a linear map for"
    yield "the rank of facts. It reads facts of the graph off the sentence tree of a question and knows none by heart:"
    yield f"what taught it how to read is the pack `{pack.name}` {pack.version} with its objects swapped, and"
    yield f"{practice} invented relations beside it.\n"
    yield f"Made by `python -m models.training.kbert` (seed {plan.seed}, {plan.threads} threads) on"
    yield f"{platform.machine()}, Python {platform.python_version()}; every number of the recipe stands in"
    yield f"models/training/kbert/plan.py. It took {report.seconds / 60:.0f} minutes in all. With `--measure` the same"
    yield "command measures it again.\n"
    yield f"Never seen by any weight: the relations {', '.join(split.held_out)} (one of each group of"
    yield f"relations.py, drawn once with the seed), {len(report.setup.world.held_out):,} entities"
    yield f"({100 * plan.entities:.0f} % of the subjects), and the phrasings of two of three writers."
    yield "Thresholds and scales are fitted on every second fact of the other entities in the words of the second"
    yield f"writer and on practice relations that no weight saw ({', '.join(split.tune)}).\n"
    yield "Shares are in per cent. An answer counts when it is right to the letter, of a relation that holds many with"
    yield "all its objects; an answer that is withheld counts as wrong. Links are exact labels.\n"


def _sets(report: Report, figures: dict[str, float]) -> Iterator[str]:
    exam = report.exam
    yield "## Natural graph, and six relations a tree\n"
    yield "Natural: the facts that the pack has of the entity (most have one or two). Six: its own and others, drawn"
    yield "from the relations that its type may have. In brackets: questions.\n"
    rows = (
        ("entities never seen, trained phrasings", exam.entities, exam.entities_crowded),
        ("phrasings never seen", exam.phrasings, exam.phrasings_crowded),
        ("relations never seen, all phrasings", exam.relations, exam.relations_crowded),
    )
    yield from table(
        "| natural | answered | six relations | answered",
        (
            [name, *(c for o in groups for c in (_count(share, o), f"{100 - share_declined(o):.1f}"))]
            for name, *groups in rows
        ),
    )
    yield f"Entities and phrasings never seen at once, natural: {figures['both_new']:.1f} ({len(exam.both_new):,}).\n"
    absent = (
        ("phrasings never seen", exam.absent, exam.absent_crowded),
        ("relations never seen", exam.absent_unseen, exam.absent_unseen_crowded),
    )
    yield from table(
        "the fact is taken out, others stay: no answer | natural | six relations",
        ([name, *(_count(share_declined, part) for part in parts)] for name, *parts in absent),
    )
    yield from _rest(exam, figures)


def _count(share_of: Callable[[list[Outcome]], float], outcomes: list[Outcome]) -> str:
    """Return a share with the number of questions."""
    return f"{share_of(outcomes):.1f} ({len(outcomes):,})"


def _rest(exam: Exam, figures: Mapping[str, float]) -> Iterator[str]:
    yield f"Triples replaced at run time, all at once: {figures['edits']:.1f} ({len(exam.edits):,}, of all"
    yield f"relations, seen and unseen). Names of strangers: {figures['strangers_declined']:.1f}"
    yield f"({len(exam.strangers):,}; nothing links).\n"
    yield f"The right one of five objects of the relation: {figures['choices_linked']:.1f}"
    yield f"({len(exam.choices_linked)}) with the graph, {figures['choices_plain']:.1f} ({len(exam.choices_plain)})"
    yield "without, where nothing tells them apart.\n"
    yield "Expected calibration error on what is and what is not in the graph:"
    yield f"{figures['calibration_error']:.1f} points; on relations never seen"
    yield f"{figures['calibration_error_relations']:.1f}.\n"


def _silence(report: Report) -> Iterator[str]:
    exam, scale = report.exam, report.system.model.confidences["object"]
    yield "By device and dtype: ../README.md.\n"
    yield "## When to say nothing\n"
    yield f"Answers from facts scored below {scale.threshold:.3f} are withheld (`answer: null`, reason `unsure`).\n"
    sets = (exam.entities + exam.phrasings, exam.relations, exam.absent, exam.absent_crowded)
    rows = []
    for limit in sorted({*THRESHOLDS, round(scale.threshold, 3)}):
        declined = (share(part, lambda o: o.reply.score < limit) for part in sets)  # noqa: B023
        rows.append([f"{limit:.3f}", *(f"{percent:.1f}" for percent in declined)])
    yield from table(
        "threshold | answerable declined | unseen relations declined | not in the graph declined | the same, six",
        rows,
    )


def _ablation(report: Report) -> Iterator[str]:
    yield "## What the parts do\n"
    yield "Entities and relations never seen, six relations a tree, all phrasings. No weight is trained again; each row"
    yield "has a scale and a threshold of its own, fitted as those of the whole were (exam.py)."
    yield "Right before silence: of what would have been said without a threshold.\n"
    rows = []
    for name, (with_fact, without) in report.exam.ablations.items():
        best = share(with_fact, lambda o: o.reply.best == o.question.expected)
        cells = (share(with_fact), best, share_declined(with_fact), share_declined(without))
        rows.append([name, *(f"{percent:.1f}" for percent in cells)])
    yield from table(
        "| exact match | right before silence | answerable declined | fact taken out: no answer", rows
    )


def _relations(report: Report) -> Iterator[str]:
    exam = report.exam
    yield "## By relation\n"
    yield "Phrasings of the third writer, worst first (of relations never seen, marked *, all phrasings); no answer"
    yield "where the fact was taken out.\n"
    groups = [
        by_relation(trained + held_out)
        for trained, held_out in (
            (exam.phrasings, exam.relations),
            (exam.phrasings_crowded, exam.relations_crowded),
            (exam.absent, exam.absent_unseen),
            (exam.absent_crowded, exam.absent_unseen_crowded),
        )
    ]
    rows = []
    for name, natural in sorted(groups[0].items(), key=lambda row: share(row[1])):
        star = "*" if name in report.setup.relations.held_out else ""
        cells = [f"{name}{star}", len(natural), f"{share(natural):.0f}", f"{share(groups[1][name]):.0f}"]
        for absent in (groups[2].get(name, []), groups[3].get(name, [])):
            cells += [len(absent), f"{share_declined(absent):.0f}" if absent else ""]
        rows.append(cells)
    yield from table(
        "relation | questions | natural | six relations | taken out | no answer | taken out of six | no answer",
        rows,
    )
