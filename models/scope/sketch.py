"""Upper bounds of cosines, from a third of the numbers: most wordings are too far from a question to be looked at.

The vectors are turned so that their first axes hold most of them: w = B p + r with p = B^T w. By Cauchy and Schwarz

    q . w  =  q_p . p + q_r . r  <=  q_p . p + |q_r| |r|

so a row keeps p, |r| and its own rounding error, and a question is multiplied with all rows in one product of 8-bit
numbers. A bound excludes wordings and never ranks them: what it lets through is compared in full, so results are the
same for any B.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.torch_private import multiply_codes

AXES = 126  # axes of a vector that are kept; with |r| and the error 128 numbers
LEVELS = 127.0
BOUND_ERROR = 0.008  # largest error of the product, which rounds the question and the result to bfloat16


@dataclass(frozen=True)
class Sketch:
    """Rows that bound cosines, on the CPU."""

    basis: Float[Tensor, "width axis"]  # B, the axes that hold most of the vectors
    codes: Int[Tensor, "row number"]  # p, |r| and the error of rounding p, of each row, in 8 bits
    scales: Float[Tensor, " row"]  # what the codes of each row are multiplied with

    @staticmethod
    def allocate(vectors: Float[Tensor, "row width"], rows: int) -> "Sketch":
        """Return rows to be written, with the axes of some unit vectors; one not yet written takes no memory."""
        axes = torch.linalg.eigh(vectors.T @ vectors).eigenvectors
        codes = torch.empty(rows, AXES + 2, dtype=torch.int8)
        return Sketch(axes[:, -AXES:].contiguous(), codes, torch.empty(rows, dtype=torch.bfloat16))

    def enlarge(self, n_used: int, rows: int) -> "Sketch":
        """Return a sketch of more rows that begins with the used ones."""
        larger = Sketch(self.basis, self.codes.new_empty(rows, AXES + 2), self.scales.new_empty(rows))
        larger.codes[:n_used], larger.scales[:n_used] = self.codes[:n_used], self.scales[:n_used]
        return larger

    def write(self, first: int, vectors: Float[Tensor, "row width"]) -> None:
        """Write the rows of unit vectors."""
        parts = vectors @ self.basis
        rest = (vectors - parts @ self.basis.T).norm(dim=-1)
        largest = torch.maximum(parts.abs().amax(-1), rest)
        scales = (largest * (1.01 / LEVELS)).bfloat16()  # bfloat16 takes less than a hundredth away
        units = scales.float()[:, None]
        levels = (parts / units).round()
        error = (parts - levels * units).norm(dim=-1)
        bounds = (torch.stack([rest, error], 1) / units).ceil()
        rows = slice(first, first + len(vectors))
        self.codes[rows] = torch.cat([levels, bounds], 1).to(torch.int8)
        self.scales[rows] = scales

    def truncate(self, end: int) -> "Sketch":
        """Return the first rows, as a view."""
        return Sketch(self.basis, self.codes[:end], self.scales[:end])

    def bounds(self, vectors: Float[Tensor, "question width"]) -> Float[Tensor, "question row"]:
        """Return what no cosine of unit vectors with a row exceeds by more than BOUND_ERROR."""
        parts = vectors @ self.basis
        rest = (vectors - parts @ self.basis.T).norm(dim=-1, keepdim=True)
        questions = torch.cat([parts, rest, parts.norm(dim=-1, keepdim=True)], 1)
        return multiply_codes(questions, self.codes, self.scales)
