"""Single facts that people wrote, with other ways to ask for them and questions near them.

One JSON object a line: `question` (or `wording`), `names` (or `subject`), `same` (other ways to ask for it), `near`.

"""

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.training.scope.relations import Read

FILE = Path(__file__).parent / "facts.jsonl"
ALIKE = 0.8  # cosine from which a fact may equal one that is kept for the test


@dataclass(frozen=True)
class WrittenFact:
    """A fact that a person wrote."""

    question: str
    names: tuple[str, ...]  # names as the question writes them
    same: tuple[str, ...]  # other questions for it
    near: tuple[tuple[str, str], ...]  # kinds of other questions, and these

    @property
    def wordings(self) -> tuple[str, ...]:
        return (self.question, *self.same)


@dataclass(frozen=True)
class WrittenFacts:
    """Facts to learn from and to choose by."""

    train: Sequence[WrittenFact]
    choose: Sequence[WrittenFact]


def read_facts(file: Path = FILE) -> list[WrittenFact]:
    """Read the facts that lie beside this module."""
    return [
        WrittenFact(row["question"], tuple(row["names"]), tuple(row["same"]), tuple(map(tuple, row["near"])))
        for row in read_rows(file)
    ]


def split_facts(
    facts: Sequence[WrittenFact], n_choose: int, seed: int, held_out: Sequence[str], read: Read
) -> WrittenFacts:
    """Deal facts to training and choosing; one that resembles a question of the tests, `held_out`, is left out."""
    cosines = read([fact.question for fact in facts]) @ read(held_out).T
    unlike = [fact for fact, cosine in zip(facts, cosines.amax(1), strict=True) if float(cosine) < ALIKE]
    random.Random(seed).shuffle(unlike)
    return WrittenFacts(unlike[n_choose:], unlike[:n_choose])


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read a file with a JSON object a line; FileNotFoundError if it is missing."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: say with --sets where the editing sets lie")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def read_groups(files: Iterable[Path]) -> list[WrittenFact]:
    """Read groups of the editing sets."""
    return [
        WrittenFact(
            row["wording"],
            (row["subject"],) if row["subject"] in row["wording"] else (),
            tuple(row["same"]),
            tuple((near["kind"], near["question"]) for near in row["near"]),
        )
        for file in files
        for row in read_rows(file)
    ]
