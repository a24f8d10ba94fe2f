"""The judge's figures in the card and in `measured.json`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.system import Thresholds
from models.training.scope.calibrate import expected_error
from models.training.scope.outcomes import Outcomes, Point, point

FIGURES = "measured.json"
CURVE = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
BEGIN, END = "<!-- figures -->", "<!-- end of the figures -->"


@dataclass(frozen=True)
class TrialFigures:
    """Figures of a trial."""

    name: str
    n_edits: int
    n_questions: int
    default: Point
    points: tuple[Point, ...]  # a point for each threshold of CURVE
    error: float  # error of the calibration, in points, at the default threshold
    reversals: float  # share of the verdicts, in per cent, that another order of the two texts turns


def measure(trials: Sequence[Outcomes], reversals: Sequence[float]) -> list[TrialFigures]:
    opens = Thresholds().opens
    return [
        TrialFigures(
            outcomes.trial.name,
            len(outcomes.trial.edits),
            len(outcomes.trial.questions),
            point(outcomes, opens),
            tuple(point(outcomes, threshold) for threshold in CURVE),
            expected_error(outcomes, opens),
            share,
        )
        for outcomes, share in zip(trials, reversals, strict=True)
    ]


def write_card(folder: Path, figures: Sequence[TrialFigures]) -> None:
    """Write the figures into the marked part of the folder's README, and into measured.json."""
    readme = folder / "README.md"
    before, _, rest = readme.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    readme.write_text(f"{before}{BEGIN}\n" + "\n".join(lines(figures)) + f"\n{END}{after}", "utf-8")
    by_trial = {
        trial.name: {
            "follows": round(trial.default.follows, 1),
            "wrong": {kind: round(share, 2) for kind, share in trial.default.wrong.items()},
            "calibration error": round(trial.error, 1),
            "turned by the order": round(trial.reversals, 1),
        }
        for trial in figures
    }
    (folder / FIGURES).write_text(json.dumps(by_trial, indent=1) + "\n")


def lines(figures: Sequence[TrialFigures]) -> Iterator[str]:
    """Yield lines of Markdown: the default's figures by kind, and the curves."""
    yield "| set | edits | questions | follows | wrongly answered | calibration error | turned by the order |"
    yield "|---|---|---|---|---|---|---|"
    for trial in figures:
        wrong = "; ".join(f"{kind} {share:.1f}" for kind, share in _kinds(trial.default))
        counts = f"{trial.n_edits:,} | {trial.n_questions:,}"
        errors = f"{trial.error:.1f} | {trial.reversals:.1f}"
        yield f"| {trial.name} | {counts} | {trial.default.follows:.1f} | {wrong} | {errors} |"
    yield ""
    yield "Follows / wrongly answered at each threshold:"
    yield ""
    yield "| threshold | " + " | ".join(trial.name for trial in figures) + " |"
    yield "|---|" + "---|" * len(figures)
    for place, threshold in enumerate(CURVE):
        cells = (
            f"{trial.points[place].follows:.1f} / {trial.points[place].all_wrong:.1f}" for trial in figures
        )
        yield f"| {threshold} | " + " | ".join(cells) + " |"


def _kinds(default: Point) -> list[tuple[str, float]]:
    kinds = [(kind, share) for kind, share in default.wrong.items() if kind not in ("all", "paraphrase")]
    return kinds if len(kinds) == 2 else [("all", default.all_wrong)]
