"""Questions that people wrote: pairs, and single facts with other ways to ask for them and questions near them.

The editing sets have pairs (`typed_pairs.jsonl.gz`) and 2,100 groups (`groups`), `facts.jsonl` has single facts; one
JSON object a line: `question` (or `wording`), `names` (or `subject`), `same` (other ways to ask for it), `near`.
"""

import gzip
import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.training.scope.relations import Read

PAIRS = "pairs/typed_pairs.jsonl.gz"
PARAPHRASE, DISFLUENT, ENTITY, SWAPS = "pos.rephrase", "pos.disfluent", "neg.entity", "paws"
LONGEST_SWAP, LONGEST_STATEMENT, SHORTEST, LONGEST = 100, 90, 15, 140  # letters
NAME = re.compile(r"(?<!^)\b[A-Z]\w{2,}")


FILE = Path(__file__).parent / "facts.jsonl"
ALIKE = 0.8  # cosine from which a fact may equal one that is kept for the test


@dataclass(frozen=True)
class TrainingPair:
    """Two questions, and whether they ask for the same."""

    first: str
    second: str
    is_same: bool
    kind: str

    def flip(self) -> "TrainingPair":
        return TrainingPair(self.second, self.first, self.is_same, self.kind)

    def turn(self, rng: random.Random) -> "TrainingPair":
        """Return the pair in one of its two orders."""
        return self if rng.random() < 0.5 else self.flip()


class Natural:
    """Pairs, questions and statements of the editing sets in the folder `sets`; FileNotFoundError if it has none."""

    def __init__(self, sets: Path) -> None:
        if not (sets / PAIRS).is_file():
            raise FileNotFoundError(f"{sets / PAIRS} is missing: say with --sets where the editing sets lie")
        with gzip.open(sets / PAIRS, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        every = [TrainingPair(row["a"], row["b"], bool(row["same"]), row["kind"]) for row in rows]
        self.paraphrases = [pair for pair in every if pair.kind == PARAPHRASE]
        self.disfluent = [pair for pair in every if pair.kind == DISFLUENT]
        self.different = [pair for pair in every if pair.kind.startswith("neg.")]  # near misses
        # Sentences with words swapped, of the same or of another meaning
        self.swaps = [p for p in every if p.kind.startswith(SWAPS) and len(p.first) < LONGEST_SWAP]
        whole = [pair for pair in every if not pair.kind.startswith(SWAPS)]
        texts = {pair.first for pair in whole} | {p.second for p in whole if p.kind in (PARAPHRASE, ENTITY)}
        self.questions = sorted(text for text in texts if SHORTEST < len(text) < LONGEST)
        # Another wording of each question
        self.other_words = {p.second: p.first for p in self.paraphrases}
        self.other_words |= {p.first: p.second for p in self.paraphrases}
        self.statements = sorted({p.second for p in self.swaps if len(p.second) < LONGEST_STATEMENT})
        # Capitalized words inside questions
        self.names = sorted({name for question in self.questions for name in NAME.findall(question)})


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


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read a file with a JSON object a line; FileNotFoundError if it is missing."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: say with --sets where the editing sets lie")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def read_facts(file: Path = FILE) -> list[WrittenFact]:
    """Read the facts that lie beside this module."""
    return [
        WrittenFact(row["question"], tuple(row["names"]), tuple(row["same"]), tuple(map(tuple, row["near"])))
        for row in read_rows(file)
    ]


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


def split_facts(
    facts: Sequence[WrittenFact], n_choose: int, seed: int, held_out: Sequence[str], read: Read
) -> WrittenFacts:
    """Deal facts to training and choosing; one that resembles a question of the tests, `held_out`, is left out."""
    cosines = read([fact.question for fact in facts]) @ read(held_out).T
    unlike = [fact for fact, cosine in zip(facts, cosines.amax(1), strict=True) if float(cosine) < ALIKE]
    random.Random(seed).shuffle(unlike)
    return WrittenFacts(unlike[n_choose:], unlike[:n_choose])
