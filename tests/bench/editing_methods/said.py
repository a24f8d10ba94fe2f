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
MOST_TOKENS = (
    32  # the pack's longest answer takes 17: one that is not done by then is as wrong as a longer one
)


@dataclass(frozen=True)
class Said:
    """best: what would be said. given: what is said; None where it is withheld, or does not end by itself."""

    given: str | None
    best: str


def clean(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


@dataclass(frozen=True)
class Question:
    """states: of the encoder, without padding. n: what the bank sees where the answer begins."""

    states: Float[Tensor, "token d"]
    n: Float[Tensor, " d"]


class Model:
    """One loaded checkpoint, and the questions that it has read so far."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._read: dict[str, Question] = {}
        self._base: dict[str, str] = {}

    def read(self, questions: Sequence[str]) -> list[Question]:
        new = sorted({question for question in questions if question not in self._read}, key=len)
        for some in batches(new):
            read = self.reader.read(some)
            n = trace(
                self.reader.decoder, read.states, read.mask, torch.zeros(len(some), 1, dtype=torch.long)
            ).n[:, 0]
            for row, question in enumerate(some):
                length = int(read.mask[row].sum())
                self._read[question] = Question(read.states[row, :length].clone(), n[row].clone())
        return [self._read[question] for question in questions]

    def base(self, questions: Sequence[str]) -> list[str]:
        """What the unedited model says."""
        new = list(dict.fromkeys(question for question in questions if question not in self._base))
        for question, said in zip(new, self.say(new, [None] * len(new)), strict=True):
            self._base[question] = said.best
        return [self._base[question] for question in questions]

    def say(self, questions: Sequence[str], reads: Sequence[Overlay | None]) -> list[Said]:
        """reads: what each question reads of the bank."""
        decoded = self.decode(questions, reads)
        texts = [clean(self.reader.say(one.tokens)) for one in decoded]
        return [Said(text if one.finished else None, text) for one, text in zip(decoded, texts, strict=True)]

    def decode(self, questions: Sequence[str], reads: Sequence[Overlay | None]) -> list[DecodedAnswer]:
        """Questions of like length are answered together."""
        read = self.read(questions)
        decoded: dict[int, DecodedAnswer] = {}
        for some in batches(sorted(range(len(read)), key=lambda place: len(read[place].states))):
            states, mask = padded([read[place] for place in some])
            own = [reads[place] for place in some]
            answers = self.reader.decoder.generate(states, mask, overlays=own, max_tokens=MAX_TOKENS)
            decoded.update(zip(some, answers, strict=True))
        return [decoded[place] for place in range(len(read))]


def padded(read: Sequence[Question]) -> tuple[Float[Tensor, "batch token d"], Bool[Tensor, "batch token"]]:
    states = pad_sequence([one.states for one in read], batch_first=True)
    lengths = torch.tensor([len(one.states) for one in read])
    return states, torch.arange(states.shape[1]) < lengths[:, None]


def batches(all_: Sequence[T]) -> Iterator[Sequence[T]]:
    yield from (all_[start : start + BATCH] for start in range(0, len(all_), BATCH))
