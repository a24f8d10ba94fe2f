"""What the model reads and says, cached: the encoder is frozen, so a question is read once whatever edits it.

Everything said is free greedy generation that stops by itself, compared after NFC and without outer white space.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.nkb.answers import DecodedAnswer
from models.nkb.overlay import Overlay
from models.nkb.reader import Reader
from models.nkb.system import MAX_TOKENS
from models.nkb.trace import trace

T = TypeVar("T")

BATCH = 64
MOST_TOKENS = 32  # the pack's longest answer has 17; an answer that is not finished by then counts as wrong


@dataclass(frozen=True)
class Reply:
    """A reply. best: best answer. answer: given answer; None if it is withheld, or does not end by itself."""

    answer: str | None
    best: str


def clean(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


@dataclass(frozen=True)
class Question:
    """A question as it was read.

    Attributes:
        states: States of the encoder, without padding.
        n: What the bank sees where the answer begins.
        vector: Its sentence vector.
    """

    states: Float[Tensor, "token d"]
    n: Float[Tensor, " d"]
    vector: Float[Tensor, " width"]


class Model:
    """One loaded checkpoint, and the questions that it has read so far."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._read: dict[str, Question] = {}
        self._base: dict[str, str] = {}

    def read(self, questions: Sequence[str]) -> list[Question]:
        new = sorted({question for question in questions if question not in self._read}, key=len)
        for batch in batches(new):
            read = self.reader.read(batch)
            n = trace(
                self.reader.decoder, read.states, read.mask, torch.zeros(len(batch), 1, dtype=torch.long)
            ).n[:, 0]
            for row, question in enumerate(batch):
                length = int(read.mask[row].sum())
                self._read[question] = Question(
                    read.states[row, :length].clone(), n[row].clone(), read.readings.vectors[row].clone()
                )
        return [self._read[question] for question in questions]

    def base(self, questions: Sequence[str]) -> list[str]:
        """What the unedited model says."""
        new = list(dict.fromkeys(question for question in questions if question not in self._base))
        for question, reply in zip(new, self.say(new, [None] * len(new)), strict=True):
            self._base[question] = reply.best
        return [self._base[question] for question in questions]

    def say(self, questions: Sequence[str], reads: Sequence[Overlay | None]) -> list[Reply]:
        """Answer questions. reads: what each question reads of the bank."""
        generations = self.decode(questions, reads)
        texts = [clean(self.reader.say(generation.tokens)) for generation in generations]
        return [
            Reply(text if generation.finished else None, text)
            for generation, text in zip(generations, texts, strict=True)
        ]

    def decode(self, questions: Sequence[str], reads: Sequence[Overlay | None]) -> list[DecodedAnswer]:
        """Decode questions; those of similar length are answered together."""
        read = self.read(questions)
        generations: dict[int, DecodedAnswer] = {}
        for places in batches(sorted(range(len(read)), key=lambda place: len(read[place].states))):
            states, mask = pad([read[place] for place in places])
            overlays = [reads[place] for place in places]
            answers = self.reader.decoder.generate(states, mask, overlays=overlays, max_tokens=MAX_TOKENS)
            generations.update(zip(places, answers, strict=True))
        return [generations[place] for place in range(len(read))]


def pad(questions: Sequence[Question]) -> tuple[Float[Tensor, "batch token d"], Bool[Tensor, "batch token"]]:
    states = pad_sequence([question.states for question in questions], batch_first=True)
    lengths = torch.tensor([len(question.states) for question in questions])
    return states, torch.arange(states.shape[1]) < lengths[:, None]


def batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    yield from (values[start : start + BATCH] for start in range(0, len(values), BATCH))
