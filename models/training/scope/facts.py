"""Pairs of questions that people wrote."""

import gzip
import json
import random
import re
from dataclasses import dataclass, replace
from pathlib import Path

PAIRS = "pairs/typed_pairs.jsonl.gz"
PARAPHRASE, DISFLUENT, ENTITY, SWAPS = "pos.rephrase", "pos.disfluent", "neg.entity", "paws"
LONGEST_SWAP, LONGEST_STATEMENT, SHORTEST, LONGEST = 180, 90, 15, 140  # letters
NAME = re.compile(r"(?<!^)\b[A-Z]\w{2,}")


@dataclass(frozen=True)
class TrainingPair:
    """Two questions, and whether they ask for the same."""

    first: str
    second: str
    is_same: bool
    kind: str

    def turn(self, rng: random.Random) -> "TrainingPair":
        """Return the pair in one of its two orders."""
        return self if rng.random() < 0.5 else replace(self, first=self.second, second=self.first)


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
