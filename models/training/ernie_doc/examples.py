"""The documents of each step as tokens, with the token places of their answers. A step's draw depends on its number."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from tokenizers import Tokenizer
from torch import Tensor

from models.reading.document import Document, tokenize
from models.training.ernie_doc.composed import SHORT, World, compose
from models.training.kit.plan import Plan
from models.training.reading.training import PLAN as READING
from models.training.reading.written.texts import PASSAGES, Question, Text, excerpt, read_texts
from models.training.reading.written.variants import Variation

MOST_TOKENS = 30_000  # tokens of a document, as a guard against wrong files


@dataclass(frozen=True)
class Example:
    """A question as the model reads it."""

    ids: Int[Tensor, " asked"]  # tokens of the question, cut to its room
    # First and last token of the answer in the document, or None if the text does not say
    span: tuple[int, int] | None
    kind: str  # kind of the question, from its text


@dataclass(frozen=True)
class Passage:
    """A document with its questions, tokenized."""

    document: Document
    examples: tuple[Example, ...]


def tokenize_text(text: Text, tokenizer: Tokenizer, question_room: int) -> Passage:
    """Split a text and its questions into tokens; an answer that is not a whole number of tokens is left out."""
    document = tokenize(text.text, tokenizer, MOST_TOKENS)
    first = {start: place for place, start in enumerate(document.starts.tolist())}
    last = {end: place for place, end in enumerate(document.ends.tolist())}
    examples = []
    for question in text.questions:
        ids = torch.tensor(tokenizer.encode(question.text, add_special_tokens=False).ids[:question_room])
        span = find_span(question, first, last)
        if span or question.answer is None:
            examples.append(Example(ids, span, question.kind))
    return Passage(document, tuple(examples))


def find_span(question: Question, first: dict[int, int], last: dict[int, int]) -> tuple[int, int] | None:
    """Return the tokens of an answer, by the tokens that begin and end at a character."""
    if question.answer is None or question.start is None:
        return None
    end = question.start + len(question.answer)
    if question.start not in first or end not in last:
        return None
    return first[question.start], last[end]


class Examples:
    """All documents that are trained on; the tokenizer does not cut, and a question has `question_room` tokens."""

    def __init__(
        self, world: World, mixture: Plan, tokenizer: Tokenizer, question_room: int, seed: int
    ) -> None:
        self.world, self.mixture, self.seed = world, mixture, seed
        self._tokenizer, self._room = tokenizer, question_room
        self._texts = read_texts("train")
        passages = read_texts("train", PASSAGES)
        self._passages, self._variation = passages, Variation(passages, READING.mixture)

    def step(self, number: int) -> Sequence[Passage]:
        """Draw the documents of a step."""
        rng = random.Random(f"{self.seed} {number}")
        texts = [compose(self.world, SHORT, rng) for _ in range(self.mixture.n_composed)]
        documents = rng.sample(self._texts, self.mixture.n_excerpts)
        texts += [excerpt(text, self.mixture.excerpt_chars, rng) for text in documents]
        passages = rng.sample(self._passages, self.mixture.n_passages)
        texts += [self._variation.draw(text, rng) for text in passages]
        return [tokenize_text(text, self._tokenizer, self._room) for text in texts]
