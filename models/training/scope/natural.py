"""Pairs and questions that other people wrote: `pairs/typed_pairs.jsonl.gz` of the editing sets."""

import gzip
import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FILE = "pairs/typed_pairs.jsonl.gz"
PARAPHRASE, DISFLUENT, ENTITY = "pos.rephrase", "pos.disfluent", "neg.entity"
LONGEST_STATEMENT, SHORTEST, LONGEST = 90, 15, 140  # letters
NAME = re.compile(r"(?<!^)\b[A-Z]\w{2,}")


@dataclass(frozen=True)
class NaturalPair:
    first: str
    second: str
    is_same: bool
    kind: str


class Natural:
    """Pairs of the folder `sets` of the editing sets.

    Raises:
        FileNotFoundError: A file is missing.
    """

    def __init__(self, sets: Path) -> None:
        path = sets / FILE
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing: say with --sets where the editing sets lie")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        self._pairs = [NaturalPair(row["a"], row["b"], bool(row["same"]), row["kind"]) for row in rows]

    @cached_property
    def paraphrases(self) -> list[NaturalPair]:
        return [pair for pair in self._pairs if pair.kind == PARAPHRASE]

    @cached_property
    def disfluent(self) -> list[NaturalPair]:
        return [pair for pair in self._pairs if pair.kind == DISFLUENT]

    @cached_property
    def different(self) -> list[NaturalPair]:
        """Pairs of near misses."""
        return [pair for pair in self._pairs if pair.kind.startswith("neg.")]

    @cached_property
    def swaps(self) -> list[NaturalPair]:
        """Sentences with words swapped, of the same or of another meaning."""
        return [pair for pair in self._pairs if pair.kind.startswith("paws") and len(pair.first) < 100]

    @cached_property
    def questions(self) -> list[str]:
        pairs = [pair for pair in self._pairs if not pair.kind.startswith("paws")]
        texts = {pair.first for pair in pairs} | {p.second for p in pairs if p.kind in (PARAPHRASE, ENTITY)}
        return sorted(text for text in texts if SHORTEST < len(text) < LONGEST)

    @cached_property
    def other_words(self) -> dict[str, str]:
        """Other wordings of each question."""
        pairs = self.paraphrases
        return {p.second: p.first for p in pairs} | {p.first: p.second for p in pairs}

    @cached_property
    def statements(self) -> list[str]:
        texts = {pair.second for pair in self.swaps}
        return sorted(text for text in texts if len(text) < LONGEST_STATEMENT)

    @cached_property
    def names(self) -> list[str]:
        """Capitalized words inside questions."""
        return sorted({name for question in self.questions for name in NAME.findall(question)})
