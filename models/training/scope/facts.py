"""Single facts with the ways in which people ask for them, and questions near them.

There are two sources. `facts.jsonl` has one JSON object a line: `question`, `names` (as written in it), `same` (other
ways to ask for the same fact), `near` (pairs of a kind and a question for something else). The folder `groups` of the
editing sets has 1,440 more in six fields: `wording`, `subject`, `same`, `near`.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models.training.scope.relations import Read

FILE = Path(__file__).parent / "facts.jsonl"
ALIKE = 0.8  # cosine from which a fact may equal one that is kept for the test


@dataclass(frozen=True)
class WrittenFact:
    question: str
    names: tuple[str, ...]
    same: tuple[str, ...]
    near: tuple[tuple[str, str], ...]

    @property
    def wordings(self) -> tuple[str, ...]:
        return (self.question, *self.same)


@dataclass(frozen=True)
class WrittenFacts:
    train: Sequence[WrittenFact]
    choose: Sequence[WrittenFact]


def read_facts(file: Path = FILE) -> list[WrittenFact]:
    """Read the facts that lie beside this module."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [
        WrittenFact(row["question"], tuple(row["names"]), tuple(row["same"]), tuple(map(tuple, row["near"])))
        for row in rows
    ]


def read_groups(sets: Path, held_voice: str = "", *, is_held: bool = False) -> list[WrittenFact]:
    """Read the groups of the editing sets, in the order of their files.

    Args:
        sets: The folder of the editing sets.
        held_voice: The file, without its ending, that is left out.
        is_held: Whether that file is read instead of the others.

    Raises:
        FileNotFoundError: The folder has no groups.
    """
    files = [f for f in sorted((sets / "groups").glob("*.jsonl")) if (f.stem == held_voice) == is_held]
    if not files:
        raise FileNotFoundError(
            f"{sets / 'groups'} has no groups: say with --sets where the editing sets lie"
        )
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    return [
        WrittenFact(
            row["wording"],
            (row["subject"],) if row["subject"] in row["wording"] else (),
            tuple(row["same"]),
            tuple((near["kind"], near["question"]) for near in row["near"]),
        )
        for row in rows
    ]


def split_facts(
    facts: Sequence[WrittenFact], n_choose: int, seed: int, held_out: Sequence[str], read: Read
) -> WrittenFacts:
    """Deal facts to training and choosing.

    Args:
        facts: All that were read.
        n_choose: Number of facts to choose by.
        seed: Seed of the deal.
        held_out: Questions of the tests; a fact that resembles one of them is left out.
        read: Reader of sentence vectors.
    """
    cosines = read([fact.question for fact in facts]) @ read(held_out).T
    unlike = [fact for fact, cosine in zip(facts, cosines.amax(1), strict=True) if float(cosine) < ALIKE]
    random.Random(seed).shuffle(unlike)
    return WrittenFacts(unlike[n_choose:], unlike[:n_choose])
