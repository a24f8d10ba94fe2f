"""What an exam found, as Markdown for people and JSON for programs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from models.training.ernie_doc.exam import Outcome, by_kind

Exam = Mapping[str, tuple[Sequence[Outcome], Sequence[Outcome]]]  # name -> outcomes with and without memory
MEMORY_KINDS = ("with", "without")


def write_card(folder: Path, exam: Exam, threshold: float, seconds: float) -> None:
    """Write README.md and measured.json into a checkpoint folder."""
    figures = collect(exam, threshold)
    (folder / "measured.json").write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
    (folder / "README.md").write_text("\n".join(lines(figures, threshold, seconds)) + "\n")


def collect(exam: Exam, threshold: float) -> dict[str, tuple[int, float, float]]:
    """Return questions, exact match and F1 by documents, memory and kind, joined by `/`."""
    return {
        f"{name}/{memory}/{kind}": figures
        for name, sides in exam.items()
        for memory, outcomes in zip(MEMORY_KINDS, sides, strict=True)
        for kind, figures in by_kind(outcomes, threshold).items()
    }


def lines(figures: Mapping[str, tuple[int, float, float]], threshold: float, seconds: float) -> Iterator[str]:
    """Yield the card line by line."""
    yield "# ernie-doc: the default checkpoint\n"
    yield "A reader of long documents that starts from MiniLM; `python -m models.training.ernie_doc`, every number of"
    yield f"the recipe in models/training/ernie_doc/plan.py, {seconds / 3600:.1f} hours. Documents, subjects and"
    yield f"phrasings of the test were not trained on. Answers below a margin of {threshold:.2f} are withheld.\n"
    yield "| documents | memory | kind | questions | exact match | F1 |"
    yield "|---|---|---|---|---|---|"
    for name, (count, exact, f1) in figures.items():
        yield f"| {' | '.join(name.split('/'))} | {count} | {exact:.1f} | {f1:.1f} |"
