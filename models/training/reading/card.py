"""The figures of an exam, as Markdown for people and JSON for programs."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from models.confidence import Confidence
from models.training.kit import card as harness
from models.training.reading.exam import Corrections
from models.training.reading.outcomes import Figures
from models.training.reading.written.texts import HELD_HAND

Exam = Mapping[str, Mapping[str, Figures]]  # texts -> kind of question -> figures


def write_card(
    folder: Path, figures: Exam, corrections: Corrections, scale: Confidence, seconds: float
) -> None:
    """Write README.md and measured.json into a checkpoint folder."""
    by_name = {
        name: {kind: group._asdict() for kind, group in kinds.items()} for name, kinds in figures.items()
    }
    lines = write_lines(figures, corrections, scale, seconds)
    harness.write_card(folder, by_name | {"corrections": corrections._asdict()}, lines)


def write_lines(figures: Exam, corrections: Corrections, scale: Confidence, seconds: float) -> Iterator[str]:
    """Yield the card line by line."""
    yield "# reading: the reader of contexts"
    yield ""
    yield "MiniLM's layers, trained to read: `python -m models.training.reading`, every number of the recipe in"
    yield f"models/training/reading/plan.py, {seconds / 60:.0f} minutes of steps. No text of the test was trained on,"
    yield f"no threshold was chosen on it, and the hand {HELD_HAND} is for the test alone. Answers with less than"
    yield f"{100 * scale.threshold:.0f} % are withheld.\n"
    rows = (
        (name, kind, group.questions, *(f"{figure:.1f}" for figure in group[1:]))
        for name, kinds in figures.items()
        for kind, group in kinds.items()
    )
    yield from harness.table(
        "texts | kind of question | questions | exact match | F1 | wrong | calibration error", rows
    )
    yield "A right answer whose names or numbers are corrected in its text is answered the new way in"
    yield f"{corrections.follow} % of {corrections.n_follow} corrections, and {corrections.stay} % of"
    yield f"{corrections.n_stay} other answers stay."
