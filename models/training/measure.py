"""Exact match of free generation, on the model as it will be served."""

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer
from transformers import T5ForConditionalGeneration

from models.nkb.decode import Decoder
from models.training.base import Corpus
from models.training.calibrate import Said

BATCH = 64
MAX_TOKENS = 48


@dataclass(frozen=True)
class Outcome:
    """One line asked: what was said, and whether it is the answer, to the letter and of its own accord."""

    row: int
    answer: str
    said: Said


class Examiner:
    """Asks a model lines of a corpus."""

    def __init__(self, t5: T5ForConditionalGeneration, tokenizer: Tokenizer, corpus: Corpus) -> None:
        self._t5, self._tokenizer, self._corpus = t5, tokenizer, corpus
        self._decoder = Decoder(t5)

    def ask(self, rows: Sequence[int]) -> list[Outcome]:
        """Greedy answers to the lines, in their order."""
        order = sorted(rows, key=lambda row: len(self._corpus.lines[row].text))
        found: dict[int, Outcome] = {}
        for start in range(0, len(order), BATCH):
            found.update((outcome.row, outcome) for outcome in self._batch(order[start : start + BATCH]))
        return [found[row] for row in rows]

    def _batch(self, rows: Sequence[int]) -> list[Outcome]:
        states, mask = self._corpus.states.batch(rows)
        decoded = self._decoder.generate(self._t5.encoder(states), mask, max_tokens=MAX_TOKENS)
        return [
            self._outcome(row, d.tokens, d.logprobs, d.finished) for row, d in zip(rows, decoded, strict=True)
        ]

    def _outcome(
        self, row: int, tokens: Sequence[int], logprobs: tuple[float, ...], finished: bool
    ) -> Outcome:
        answer = self._tokenizer.decode(list(tokens)).strip()
        wanted = unicodedata.normalize("NFC", self._corpus.lines[row].answer)
        right = finished and unicodedata.normalize("NFC", answer) == wanted
        return Outcome(row, answer, Said(logprobs, right))


def share(outcomes: Sequence[Outcome]) -> float:
    """Exact match in per cent."""
    return 100 * sum(o.said.right for o in outcomes) / max(1, len(outcomes))


def by_relation(outcomes: Sequence[Outcome], relation_of_row: Sequence[str]) -> dict[str, tuple[int, float]]:
    """Questions and exact match of each relation."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[relation_of_row[outcome.row]].append(outcome)
    return {relation: (len(group), share(group)) for relation, group in sorted(groups.items())}
