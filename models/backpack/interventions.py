"""Changes of senses and of their weights, as pure functions and as the overlay that a reading applies.

Hewitt et al., arXiv:2305.16765, section 5: projection of one word onto another, and factors on the weights of senses.
E is never written, for it is tied to the input of both networks and to the output.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor


def project(
    senses: Float[Tensor, "sense width"],
    away: Float[Tensor, " width"],
    towards: Float[Tensor, " width"],
    strength: float = 1.0,
    orthogonal: bool = False,
) -> Float[Tensor, "sense width"]:
    """Replace the direction of one word in senses by that of another.

        p = (s . a) / (a . a),   s' = s - p a + p h (a . a) / (h . h)

    Args:
        senses: s, the senses of the edited word.
        away: a, the row of E whose direction is replaced.
        towards: h, the row of E whose direction takes its place.
        strength: How far to go from s to s', 0 to 1.
        orthogonal: Whether to remove from s' the rest of a, which h may bring back.

    Raises:
        ValueError: A direction has no length, or the strength lies outside 0 to 1.
    """
    if not 0 <= strength <= 1:
        raise ValueError(f"strength is {strength}: it has to lie between 0 and 1")
    norms = [float(direction @ direction) for direction in (away, towards)]
    if min(norms) == 0:
        raise ValueError(
            "a direction of length zero cannot be replaced: name a word whose embedding is not zero"
        )
    part = senses @ away / norms[0]
    projection = senses - part[:, None] * away + part[:, None] * towards * (norms[0] / norms[1])
    if orthogonal:
        projection = projection - (projection @ away / norms[0])[:, None] * away
    return projection if strength == 1 else torch.lerp(senses, projection, strength)


@dataclass(frozen=True)
class SenseOverlay:
    """Senses and factors of some tokens, in place of the checkpoint's.

    Attributes:
        ids: The edited tokens, ascending [token].
        senses: Their senses [token sense width].
        factors: Factors on the weights of their senses [token sense].
    """

    ids: Int[Tensor, " token"]
    senses: Float[Tensor, "token sense width"]
    factors: Float[Tensor, "token sense"]

    @staticmethod
    def of(
        senses: Mapping[int, Tensor], factors: Mapping[int, Tensor], base: Mapping[int, Tensor]
    ) -> "SenseOverlay":
        """Build the overlay of edited tokens.

        Args:
            senses: Token id -> its senses, if they are edited.
            factors: Token id -> its factors, if they are edited.
            base: Token id -> its senses in the checkpoint, for tokens of which the factors alone are edited.

        Raises:
            ValueError: No token is edited, or a factor is negative or not finite.
        """
        ids = sorted({*senses, *factors})
        if not ids:
            raise ValueError("an overlay needs one edited token at least")
        rows = torch.stack([senses[id] if id in senses else base[id] for id in ids])
        unit = torch.ones(rows.shape[1], device=rows.device, dtype=rows.dtype)
        overlay = SenseOverlay(
            torch.tensor(ids, device=rows.device), rows, torch.stack([factors.get(id, unit) for id in ids])
        )
        if not (overlay.factors.isfinite() & (overlay.factors >= 0)).all():
            raise ValueError(
                "a factor has to be a finite number from 0 on: weights of senses are never negative"
            )
        return overlay

    @cached_property
    def rows_by_token(self) -> Mapping[int, tuple[Tensor, Tensor]]:
        """Token -> its senses [sense width] and factors [sense]."""
        pairs = zip(self.senses, self.factors, strict=True)
        return dict(zip(self.ids.tolist(), pairs, strict=True))

    def apply(
        self,
        ids: Int[Tensor, "batch token"],
        senses: Float[Tensor, "batch token sense width"],
        past: Int[Tensor, "batch earlier"],
    ) -> Float[Tensor, "batch token sense width"]:
        """Replace the senses of edited tokens; every other token keeps its bits."""
        del past
        rows = torch.searchsorted(self.ids, ids).clamp(max=len(self.ids) - 1)
        is_edited = self.ids[rows] == ids
        if not is_edited.any():
            return senses
        replacements = self.senses[rows[is_edited]] * self.factors[rows[is_edited]][..., None]
        senses = senses.clone()
        senses[is_edited] = replacements.to(senses.dtype)
        return senses
