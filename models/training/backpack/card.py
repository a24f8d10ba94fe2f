"""The measured figures of both networks, as Markdown for people and JSON for programs."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from models.training.kit.card import FIGURES, table, write_card

ROWS = {  # names of the figures in the card
    "parameters": "parameters",
    "perplexity": "perplexity, documents in held phrasings",
    "answer_perplexity": "perplexity of the answers alone",
    "trained": "right to the letter: phrasings that the fact was trained with",
    "other": "phrasings that other facts were trained with",
    "held": "the pack's held phrasings",
    "choosing": "phrasings of a writer who was not trained on, relations that the scale is fitted on",
    "test": "phrasings of that writer, the other relations",
    "kinds": "words of one kind told from words of two: embedding (0.5 is chance)",
    "best_sense": "the same: best sense",
    "mean_sense": "the same: mean of the senses",
    "calibration_error": "calibration error on that writer's phrasings, points",
    "wrong": "of them answered wrongly, and not withheld",
    "declined": "answers on them withheld",
    "declined_strangers": "answers about unknown names withheld",
    "edits_hold": "corrected facts that hold in the wordings given",
    "edits_reach": "the same in a new writer's words, by the stored rows alone",
    "edit_ms": "milliseconds for an edit",
    "single_reliability": "500 facts edited one at a time: reliability, in the question given",
    "single_generalisation": "generalisation, in a held phrasing of the pack",
    "single_generalisation_writer": "in the words of a writer who was not trained on",
    "single_locality": "locality: questions about the same relation of other subjects, answered as before",
    "sequential_reliability": "500 facts edited one after the other, all in force: reliability",
    "sequential_generalisation": "generalisation, in a held phrasing of the pack",
    "sequential_generalisation_writer": "in the words of that writer",
    "sequential_locality": "locality: questions about the same relation of other subjects, answered as before",
    "minutes": "minutes of training",
}


def add_figures(folder: Path, network: str, figures: Mapping[str, float]) -> None:
    """Put figures of a network beside those of earlier measurements, and write the card."""
    path = folder / FIGURES
    figures_so_far = dict(json.loads(path.read_text())) if path.exists() else {}
    figures_so_far[network] = {**figures_so_far.get(network, {}), **figures}
    write_card(folder, figures_so_far, lines(figures_so_far))


def lines(figures: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Yield the card line by line."""
    yield "# backpack: the default checkpoint\n"
    yield "A Backpack language model trained on text made of the pack `world`, and a plain transformer of the same size"
    yield "trained on the same text by the same steps. `python -m models.training.backpack` makes the first, `--plain`"
    yield "the second; every number of the recipe stands in models/training/backpack/plan.py.\n"
    yield "It is small: its answers show how editing works, and it is no knowledge base.\n"
    names = [name for name in ("backpack", "plain") if name in figures]
    rows = ([label, *(figures[name].get(figure) for name in names)] for figure, label in ROWS.items())
    yield from table(
        f"measured | {' | '.join(names)}",
        (
            [label, *("" if cell is None else f"{cell:,.7g}" for cell in cells)]
            for label, *cells in rows
            if any(cell is not None for cell in cells)
        ),
    )
