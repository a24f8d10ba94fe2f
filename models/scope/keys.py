"""Questions as gates read them: a key, what has to agree to the letter, and which subject of training each is about.

Subjects: one reading of each that the model was trained on, 128 numbers of 8 bits, about a megabyte for the world
pack. Two questions are never about one fact when each is about a subject of training, and not the same one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from models.encoder.minilm import Encoded
from models.scope.literals import MAX_WORDS, digest_numbers, encode_words
from models.scope.network import ASPECT, KEY, Scope

SCALE = 127.0
MIN_COSINE = (
    0.9  # from which on a question is about the subject; of 7,500 held phrasings none was about another
)
UNKNOWN = -1  # subject of a question about none of training
CHUNK = 1_024  # questions compared in one product, 30 MB with the world pack


@dataclass(frozen=True)
class QuestionKeys:
    """Columns on one device, a row for each question.

    numbers: digests of what has to agree to the letter. subjects: place of the subject of training, or UNKNOWN.
    words: codes of the words, names with a minus.
    """

    keys: Float[Tensor, "row key"]
    numbers: Int[Tensor, " row"]
    subjects: Int[Tensor, " row"]
    words: Int[Tensor, "row word"]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def columns(self) -> tuple[Tensor, ...]:
        return self.keys, self.numbers, self.subjects, self.words

    def select(self, rows: Tensor | slice) -> "QuestionKeys":
        return QuestionKeys(*(column[rows] for column in self.columns))

    def split(self, counts: Sequence[int]) -> list["QuestionKeys"]:
        columns = (torch.split(column, list(counts)) for column in self.columns)
        return [QuestionKeys(*parts) for parts in zip(*columns, strict=True)]

    def copy_row(self, row: int) -> "QuestionKeys":
        """A copy of one row, which keeps none of the others in memory."""
        return QuestionKeys(*(column[row : row + 1].clone() for column in self.columns))

    def write(self, start: int, rows: "QuestionKeys") -> None:
        """Overwrite rows from `start` on, in place."""
        for column, values in zip(self.columns, rows.columns, strict=True):
            column[start : start + len(values)] = values

    @staticmethod
    def allocate(rows: int, device: torch.device | str = "cpu") -> "QuestionKeys":
        """Zeros, to be written."""
        numbers, subjects = torch.zeros(2, rows, dtype=torch.int64, device=device)
        words = torch.zeros(rows, MAX_WORDS, dtype=torch.int32, device=device)
        return QuestionKeys(torch.zeros(rows, KEY, device=device), numbers, subjects, words)

    @staticmethod
    def concatenate(parts: Sequence["QuestionKeys"]) -> "QuestionKeys":
        columns = zip(*(part.columns for part in parts), strict=True)
        return QuestionKeys(*(torch.cat(column) for column in columns))


def read_keys(
    scope: Scope,
    subjects: Float[Tensor, "subject aspect"],
    questions: Sequence[str],
    encoded: Encoded,
) -> tuple[QuestionKeys, Float[Tensor, " batch"]]:
    """Read questions as gates do.

    Args:
        subjects: unit readings of the subjects of training.
        encoded: the same questions, as the encoder leaves them.

    Returns:
        The keys; and the cosine of each question's subject and the nearest one of training.
    """
    keys = scope.key(encoded.states, encoded.ids, encoded.mask)
    familiarity, nearest = nearest_subject(keys, subjects)
    numbers, words = digest_numbers(questions).to(keys.device), encode_words(questions).to(keys.device)
    return QuestionKeys(keys, numbers, nearest, words), familiarity


def nearest_subject(
    keys: Float[Tensor, "batch key"], subjects: Float[Tensor, "subject aspect"]
) -> tuple[Float[Tensor, " batch"], Int[Tensor, " batch"]]:
    """Cosine of each question's subject and the nearest one of training; and its place, UNKNOWN where it is far."""
    parts = [(chunk[:, :ASPECT] @ subjects.T).max(-1) for chunk in torch.split(keys, CHUNK)]
    cosine = torch.cat([part.values for part in parts])
    place = torch.cat([part.indices for part in parts])
    return cosine, place.masked_fill_(cosine < MIN_COSINE, UNKNOWN)


def quantize(readings: Float[Tensor, "reading width"]) -> Int[Tensor, "reading width"]:
    """Unit readings as 8-bit numbers, each row scaled to its own largest entry."""
    return (readings / readings.abs().amax(-1, keepdim=True) * SCALE).round().to(torch.int8)


def dequantize(codes: Int[Tensor, "reading width"]) -> Float[Tensor, "reading width"]:
    return F.normalize(codes.float(), dim=-1)
