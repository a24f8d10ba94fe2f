"""Questions as the scope reads them: a column for each thing by which two questions are compared.

The first stage compares sentence vectors, and literals and known subjects, which have to agree (`may_share`). The
second, the judge, reads the tokens of the two together.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from models.encoder.minilm import WIDTH
from models.scope.sketch import BOUND_ERROR, Sketch
from models.torch_private import multiply_codes

SCALE = 127.0
NEAR_ERROR = 0.008  # largest error of a cosine of `StoredReadings.near`, which computes in bfloat16
PRODUCTS_AT_ONCE = 2**23  # cosines that are in memory together, two bytes each
COMPARED_AT_ONCE = 2**14  # pairs whose cosine is computed together
MIN_EXCLUDED = 0.5  # cosine from which on bounds exclude most rows
MAX_SHARE = 1 / 64  # share of rows left by bounds from which on one product with all takes less time
UNKNOWN = -1  # subject of a question where no subjects are known
FIRST_FAR = -2  # subject of a question about none that is known, the nearest of all being the first (`far`)

Tokens = bytes  # tokens of one text, two bytes for each


@dataclass(frozen=True)
class Readings:
    """A row for each question; tensors on one device."""

    tokens: Sequence[Tokens]  # tokens of each question, as the judge reads them
    vectors: Float[Tensor, "row width"]  # unit sentence vectors
    # Digest of each question, which case, spaces and final punctuation do not change
    wordings: Int[Tensor, " row"]
    literals: Int[Tensor, " row"]  # digest of the words that have to agree exactly
    # Place of the known subject; if none is known, the nearest one as `far` writes it, or UNKNOWN
    subjects: Int[Tensor, " row"]

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def columns(self) -> tuple[Tensor, ...]:
        """Return the tensors, a column each."""
        return self.vectors, self.wordings, self.literals, self.subjects

    def select(self, rows: Sequence[int]) -> "Readings":
        """Return a copy of these rows, which keeps none of the others in memory."""
        index = torch.tensor(rows, dtype=torch.long, device=self.vectors.device)
        return Readings([self.tokens[row] for row in rows], *(column[index] for column in self.columns))

    def split(self, counts: Sequence[int]) -> list["Readings"]:
        """Return consecutive parts with these numbers of rows."""
        ends = accumulate(counts)
        return [self.select(range(end - count, end)) for end, count in zip(ends, counts, strict=True)]

    def split_evenly(self, size: int) -> list["Readings"]:
        """Return consecutive parts of at most `size` rows."""
        return [self.select(range(at, min(at + size, len(self)))) for at in range(0, len(self), size)]

    @staticmethod
    def concatenate(parts: Sequence["Readings"]) -> "Readings":
        """Return all rows of the parts."""
        columns = zip(*(part.columns for part in parts), strict=True)
        tokens = [row for part in parts for row in part.tokens]
        return Readings(tokens, *(torch.cat(column) for column in columns))


@dataclass(frozen=True)
class StoredReadings:
    """Readings with their sentence vectors in 8 bits: the wordings of a hundred thousand edits take 40 MB.

    Attributes:
        wordings, literals, subjects: Columns as in `Readings`.
    """

    tokens: Sequence[Tokens]  # tokens of each question; a table that grows may have more of them than rows
    codes: Int[Tensor, "row width"]  # quantized sentence vectors (`quantize`)
    scales: Float[Tensor, " row"]  # what makes unit vectors of the codes: one divided by their norms
    wordings: Int[Tensor, " row"]
    literals: Int[Tensor, " row"]
    subjects: Int[Tensor, " row"]
    # Bounds of cosines with each row, on the CPU; None for few rows
    sketch: Sketch | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def columns(self) -> tuple[Tensor, ...]:
        """Return the tensors, a column each."""
        return self.codes, self.scales, self.wordings, self.literals, self.subjects

    @staticmethod
    def allocate(rows: int, device: torch.device | str = "cpu") -> "StoredReadings":
        """Return rows to be written; on the CPU one that is not written yet takes no memory."""
        codes = torch.empty(rows, WIDTH, dtype=torch.int8, device=device)
        digests = torch.empty(3, rows, dtype=torch.int64, device=device)
        scales = torch.empty(rows, dtype=torch.bfloat16, device=device)
        return StoredReadings([], codes, scales, *digests)

    @staticmethod
    def of(readings: Readings) -> "StoredReadings":
        """Store readings with their vectors in 8 bits."""
        codes = quantize(readings.vectors)
        return StoredReadings(readings.tokens, codes, scales_of(codes), *readings.columns[1:])

    def truncate(self, end: int) -> "StoredReadings":
        """Return the first rows, as a view."""
        sketch = None if self.sketch is None else self.sketch.truncate(end)
        return StoredReadings(self.tokens, *(column[:end] for column in self.columns), sketch=sketch)

    def select(self, rows: Sequence[int]) -> Readings:
        """Return a copy of these rows."""
        index = torch.tensor(rows, dtype=torch.long, device=self.codes.device)
        columns = self.wordings, self.literals, self.subjects
        tokens = [self.tokens[row] for row in rows] if self.tokens else ()
        return Readings(tokens, dequantize(self.codes[index]), *(column[index] for column in columns))

    def cosines(
        self,
        vectors: Float[Tensor, "question width"],
        questions: Int[Tensor, " pair"],
        rows: Int[Tensor, " pair"],
    ) -> Float[Tensor, " pair"]:
        """Return the cosines of pairs of a question, given by its unit vector, and a row."""
        cosines: Tensor = (dequantize(self.codes[rows]) * vectors[questions]).sum(-1)
        return cosines

    def near(
        self, vectors: Float[Tensor, "question width"], min_cosine: float
    ) -> tuple[Int[Tensor, " pair"], Int[Tensor, " pair"], Float[Tensor, " pair"]]:
        """Return question, row and cosine, exact to NEAR_ERROR, of all pairs from a cosine on, and hardly any below it.

        Pairs are grouped by question.
        """
        parts: list[tuple[Tensor, Tensor, Tensor]] = []
        at_once = max(1, PRODUCTS_AT_ONCE // max(1, len(self)))
        for start in range(0, len(vectors), at_once):
            chunk = vectors[start : start + at_once]
            questions, rows, near = self._exclude(chunk, min_cosine) or self._multiply(chunk, min_cosine)
            parts.append((questions + start, rows, near))
        questions, rows, near = (torch.cat(column) for column in zip(*parts, strict=True))
        return questions, rows, near

    def _exclude(
        self, vectors: Float[Tensor, "question width"], min_cosine: float
    ) -> tuple[Tensor, Tensor, Tensor] | None:
        """Return what `near` does, of the rows that bounds let through; None where these are many."""
        if self.sketch is None or min_cosine < MIN_EXCLUDED:
            return None
        questions, rows = (self.sketch.bounds(vectors) >= min_cosine - BOUND_ERROR).nonzero(as_tuple=True)
        if len(rows) > MAX_SHARE * len(self) * len(vectors):
            return None
        pieces = zip(*(torch.split(pairs, COMPARED_AT_ONCE) for pairs in (questions, rows)), strict=True)
        sums = [torch.linalg.vecdot(self.codes[row].float(), vectors[question]) for question, row in pieces]
        near = torch.cat(sums) * self.scales[rows].float()
        is_near = near >= min_cosine - NEAR_ERROR
        return questions[is_near], rows[is_near], near[is_near]

    def _multiply(
        self, vectors: Float[Tensor, "question width"], min_cosine: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return what `near` does, from a product with all rows."""
        cosines = self._products(vectors)
        questions, rows = (cosines >= min_cosine - NEAR_ERROR).nonzero(as_tuple=True)
        return questions, rows, cosines[questions, rows].float()

    def _products(self, vectors: Float[Tensor, "question width"]) -> Float[Tensor, "question row"]:
        """Return the cosines of unit vectors with all rows."""
        if self.codes.device.type == "cpu":
            return multiply_codes(vectors, self.codes, self.scales)
        return (vectors.half() @ self.codes.T.half()) * self.scales


def pack_tokens(ids: Sequence[int]) -> Tokens:
    """Pack the ids of one text, each below 65,536, into bytes."""
    return array("H", ids).tobytes()


def unpack_tokens(tokens: Tokens) -> Sequence[int]:
    """Return the ids of packed tokens."""
    return array("H", tokens)


def quantize(vectors: Float[Tensor, "row width"]) -> Int[Tensor, "row width"]:
    """Return unit vectors as 8-bit numbers, each row scaled to its largest entry."""
    return (vectors / vectors.abs().amax(-1, keepdim=True) * SCALE).round().to(torch.int8)


def scales_of(codes: Int[Tensor, "row width"]) -> Float[Tensor, " row"]:
    """Return the scales that make unit vectors of codes."""
    scales: Tensor = codes.float().norm(dim=-1).reciprocal().bfloat16()
    return scales


def dequantize(codes: Int[Tensor, "*row width"]) -> Float[Tensor, "*row width"]:
    """Return unit vectors of 8-bit codes."""
    return torch.nn.functional.normalize(codes.float(), dim=-1)


def far(nearest: Int[Tensor, "*row"]) -> Int[Tensor, "*row"]:
    """Return the subjects of questions about none that is known, given the place of the nearest one."""
    return FIRST_FAR - nearest


def may_share(question: Int[Tensor, "*#pair"], wording: Int[Tensor, "*#pair"]) -> Bool[Tensor, "*#pair"]:
    """Return whether a question may be about the subject of a wording.

    A question about a known subject is not about another known one, and not about one to which another is nearer. The
    reverse does not hold: of questions about a known subject that are read as far from all, one in six is nearer to
    another.
    """
    is_other_known = (wording > UNKNOWN) & (wording != question)
    is_nearer_to_other = (wording <= FIRST_FAR) & (far(wording) != question)
    return (question <= UNKNOWN) | ~(is_other_known | is_nearer_to_other)
