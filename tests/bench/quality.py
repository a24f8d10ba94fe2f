"""The quality of the six systems, the reader and the judge: the figures that their cards measured."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHECKPOINTS = Path(__file__).parents[2] / "models" / "checkpoints"
# checkpoint, what is measured, and where its measured.json has the figure
FIGURES = (
    (
        "nkb",
        "facts of the pack in words of a writer whom nothing has read: best answer right; given and wrong",
        "base_held",
        "wrong_known",
    ),
    (
        "nkb",
        "facts injected into the bank alone, trained words; other words",
        "injected_trained",
        "injected_held",
    ),
    ("nkb", "names that it does not know: declined", "declined_strangers"),
    ("kbert", "facts of the graph in such words: right; wrong", "phrasings", "phrasings_wrong"),
    ("kbert", "relations never seen; the fact is missing: declined", "relations", "absent_declined"),
    ("kbert", "a triple replaced at run time: its new object is the answer", "edits"),
    ("relational", "one, two, three facts in such words", "1 hops/right", "2 hops/right", "3 hops/right"),
    ("relational", "two facts, one of them missing: declined", "2 hops, unanswerable/right"),
    ("thu-ernie", "the right entity is the best; is given", "neighbours/hits@1", "neighbours/answered"),
    (
        "thu-ernie",
        "an edit of a row is followed; other answers stay",
        "edits of rows/follow",
        "edits of rows/stable",
    ),
    ("backpack", "facts in trained words; in such words", "backpack/trained", "backpack/test"),
    (
        "backpack",
        "an edit in such words; other answers stay",
        "backpack/single_generalisation_writer",
        "backpack/single_locality",
    ),
    (
        "ernie-doc",
        "documents; 2,000; 20,000 tokens (F1)",
        "documents/with/all/f1",
        "2,000 tokens/with/all/f1",
        "20,000 tokens/with/all/f1",
    ),
    (
        "reading",
        "texts of a hand that was never read (F1): answered; not said",
        "passages c/plain/f1",
        "passages c/unanswerable/f1",
    ),
    (
        "scope",
        "near groups: paraphrases follow; other questions answered",
        "near groups/follows",
        "near groups/wrong/all",
    ),
    (
        "scope",
        "order of names: paraphrases follow; exchanged names answered",
        "order of names/follows",
        "order of names/wrong/names exchanged",
    ),
)


def lines() -> Iterator[str]:
    """Yield the table, in per cent."""
    yield "| card | what | per cent |"
    yield "|---|---|---|"
    for name, subject, *places in FIGURES:
        card = json.loads((CHECKPOINTS / name / "measured.json").read_text("utf-8"))
        figures = "; ".join(f"{_find(card, place):.1f}" for place in places)
        yield f"| [{name}](models/checkpoints/{name}/README.md) | {subject} | {figures} |"


def _find(table: Any, place: str) -> float:
    """Return the figure at a path of names; a name may hold the slash of the next one."""
    if isinstance(table, dict):
        for name in sorted(table, key=len, reverse=True):
            if place == name:
                return float(table[name])
            if place.startswith(f"{name}/"):
                return _find(table[name], place.removeprefix(f"{name}/"))
    raise KeyError(place)
