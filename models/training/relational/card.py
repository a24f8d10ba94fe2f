"""The figures of an exam, as Markdown for people and JSON for programs."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from models.training.kit import card as harness
from models.training.kit.card import table
from models.training.relational.exam import Figures


def write_card(folder: Path, measures: Mapping[str, Figures], minutes: float) -> None:
    """Write README.md and measured.json into a checkpoint folder.

    Args:
        folder: Folder of the checkpoint.
        measures: Group of the exam -> its figures.
        minutes: Duration of the training, over all runs.
    """
    content = {name: asdict(figures) for name, figures in measures.items()}
    harness.write_card(folder, content, lines(measures, minutes))


def lines(measures: Mapping[str, Figures], minutes: float) -> Iterator[str]:
    """Yield the card line by line."""
    yield "# relational: the default checkpoint\n"
    yield "A reader of questions that walks along the facts of a graph, over the frozen MiniLM. `python -m"
    yield "models.training.relational` makes it, every number of the recipe in models/training/relational/plan.py"
    yield f"({minutes:.0f} minutes on two shared cores). Every group is asked in the words of a writer whom training"
    yield "has not read, without what the others wrote, too (six relations have no noun phrases but shared ones), about"
    yield "entities that it never saw. *Best* counts the likeliest answer, given or withheld; *faithful* is the share"
    yield "of right answers that rest on the path that was asked for. Unanswerable questions lack a fact.\n"
    yield from table(
        "questions | number | right, or rightly withheld | best | faithful",
        (
            [name, figures.n, f"{figures.right:.1f}"]
            + ["" if "unanswerable" in name else f"{value:.1f}" for value in (figures.best, figures.faithful)]
            for name, figures in measures.items()
        ),
    )
