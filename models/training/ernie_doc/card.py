"""The figures of an exam, as Markdown for people and JSON for programs."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from models.confidence import Confidence
from models.training.kit import card as harness
from models.training.kit.card import table
from models.training.reading.outcomes import Figures, Outcome, by_kind

Exam = Mapping[str, Mapping[str, Sequence[Outcome]]]  # name of documents -> name of a reading -> outcomes


def write_card(folder: Path, exam: Exam, scale: Confidence, share: float, seconds: float) -> None:
    """Write README.md and measured.json into a checkpoint folder."""
    figures = collect(exam, scale)
    by_name = {name: group._asdict() for name, group in figures.items()}
    harness.write_card(folder, by_name, lines(figures, scale, share, seconds))


def collect(exam: Exam, scale: Confidence) -> dict[str, Figures]:
    """Return the figures by documents, memory and kind, joined by `/`."""
    return {
        f"{name}/{memory}/{kind}": figures
        for name, readings in exam.items()
        for memory, outcomes in readings.items()
        for kind, figures in by_kind(outcomes, scale).items()
    }


def lines(figures: Mapping[str, Figures], scale: Confidence, share: float, seconds: float) -> Iterator[str]:
    """Yield the card line by line."""
    yield "# ernie-doc: the default checkpoint\n"
    yield "A reader of long documents that starts from models/reading: `python -m models.training.ernie_doc`."
    yield "Every number of the recipe is in models/training/ernie_doc/plan.py."
    if seconds:
        yield f"{seconds / 60:.0f} minutes of steps."
    yield "Documents, subjects and phrasings of the test were not trained on, and the scale of confidence was"
    yield f"chosen on others again. Answers with less than {100 * scale.threshold:.0f} % are withheld."
    if share:
        yield f"In the windows that are asked, the logits are {100 * share:.0f} % those of the reader of all systems"
        yield "(models/reading), which reads each of them without what stands before it; `alone` is without it."
    yield ""
    yield from table(
        "documents | memory | kind | questions | exact match | F1 | wrong | calibration error",
        (
            [*name.split("/"), group.questions, *(f"{figure:.1f}" for figure in group[1:])]
            for name, group in figures.items()
        ),
    )
