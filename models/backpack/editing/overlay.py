"""The effect of changes on the senses of words, and the overlay of all changes of a version, which a reading applies.

Hewitt et al., arXiv:2305.16765, section 5: projection of one word onto another, and factors on the weights of senses. E
is never written, for it is tied to the input of both networks and to the output. A block stores the operation and not
its result: changes of one token compose in ledger order, and the overlay is rebuilt from the base, so undo is exact to
the bit.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from models.backpack.network import Backpack
from models.blocks import Block
from models.kit.material import read_text, to_tensor

SENSE: Literal["sense"] = "sense"  # kind of these changes and of their blocks
Action = Literal["project", "transplant", "overwrite", "factor"]


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
        ValueError: A direction has no length.
    """
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
    """Senses of some tokens, ascending, and factors on their weights, in place of the checkpoint's."""

    ids: Int[Tensor, " token"]
    senses: Float[Tensor, "token sense width"]
    factors: Float[Tensor, "token sense"]

    @staticmethod
    def of(rows: Mapping[int, tuple[Tensor, Tensor]]) -> "SenseOverlay":
        """Build the overlay of one token or more from the senses and factors of each."""
        ids = sorted(rows)
        senses, factors = (torch.stack([rows[id][side] for id in ids]) for side in (0, 1))
        return SenseOverlay(torch.tensor(ids, device=senses.device), senses, factors)

    @cached_property
    def rows_by_token(self) -> Mapping[int, tuple[Tensor, Tensor]]:
        """Token -> its senses [sense width] and factors [sense]."""
        pairs = zip(self.senses, self.factors, strict=True)
        return dict(zip(self.ids.tolist(), pairs, strict=True))

    def apply(
        self, ids: Int[Tensor, "batch token"], senses: Float[Tensor, "batch token sense width"]
    ) -> Float[Tensor, "batch token sense width"]:
        """Replace the senses of edited tokens; every other token keeps its bits."""
        rows = torch.searchsorted(self.ids, ids).clamp(max=len(self.ids) - 1)
        is_edited = self.ids[rows] == ids
        if not is_edited.any():
            return senses
        replacements = self.senses[rows[is_edited]] * self.factors[rows[is_edited]][..., None]
        senses = senses.clone()
        senses[is_edited] = replacements.to(senses.dtype)
        return senses


@dataclass(frozen=True)
class SenseOperation:
    """One change, with words as tokens."""

    action: Action
    word: int
    away: int | None  # token whose direction is replaced
    towards: tuple[int, ...]
    senses: tuple[int, ...]  # numbers of those that change
    strength: float  # how far to go from the old senses to the new ones
    factor: float | None  # on the weights
    orthogonal: bool  # whether the rest of `away` is removed

    def to_block(self, key: str) -> Block:
        """Return the block that stores the operation."""
        return Block.of(key, 0, SENSE, {"json": to_tensor(json.dumps(asdict(self), sort_keys=True))})

    @staticmethod
    def of(block: Block) -> "SenseOperation":
        """Read the operation of a block."""
        content = json.loads(read_text(block, "json"))
        lists = {name: tuple(content[name]) for name in ("towards", "senses")}
        return SenseOperation(**{**content, **lists})

    def apply(
        self, model: Backpack, senses: Float[Tensor, "sense width"], factors: Float[Tensor, " sense"]
    ) -> tuple[Float[Tensor, "sense width"], Float[Tensor, " sense"]]:
        """Return the senses of the token and the factors on their weights after the change.

        Raises:
            ValueError: A direction has no length.
        """
        numbers = list(self.senses)
        if self.factor is not None:
            factors = factors.clone()
            factors[numbers] *= self.factor
            return senses, factors
        senses = senses.clone()
        senses[numbers] = self._move(model, senses[numbers])
        return senses, factors

    def _move(self, model: Backpack, rows: Float[Tensor, "row width"]) -> Float[Tensor, "row width"]:
        """Return the chosen senses after the change."""
        if self.away is not None:
            away, towards = model.embedding[self.away], model.embedding[self.towards[0]]
            return project(rows, away, towards, self.strength, self.orthogonal)
        target = (
            read_senses(model, self.towards[0])[list(self.senses)]
            if self.action == "transplant"
            else self._point(model, rows)
        )
        return target if self.strength == 1 else torch.lerp(rows, target, self.strength)

    def _point(self, model: Backpack, rows: Float[Tensor, "row width"]) -> Float[Tensor, "row width"]:
        """Return senses of the same length that point at the words."""
        direction = model.embedding[list(self.towards)].sum(0)
        if not direction.any():
            raise ValueError("the words point nowhere together: name others")
        lengths: Tensor = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
        return F.normalize(direction, dim=0) * lengths


def read_senses(model: Backpack, word: int) -> Float[Tensor, "sense width"]:
    """Return the senses of one token in the checkpoint, always with the same bits."""
    senses: Tensor = model.senses_of(torch.tensor([word], device=model.embedding.device))[0]
    return senses


def read_row(
    model: Backpack, overlay: SenseOverlay | None, word: int
) -> tuple[Float[Tensor, "sense width"], Float[Tensor, " sense"]]:
    """Return the senses of a token and the factors on their weights under an overlay."""
    if overlay is not None and word in overlay.rows_by_token:
        return overlay.rows_by_token[word]
    senses = read_senses(model, word)
    return senses, torch.ones_like(senses[:, 0])


def compose(model: Backpack, blocks: Iterable[Block]) -> SenseOverlay | None:
    """Return the overlay that changes give in the order of their blocks; None without any."""
    rows: dict[int, tuple[Tensor, Tensor]] = {}
    for block in blocks:
        operation = SenseOperation.of(block)
        before = rows.get(operation.word) or read_row(model, None, operation.word)
        rows[operation.word] = operation.apply(model, *before)
    return SenseOverlay.of(rows) if rows else None


def find_differing(first: SenseOverlay | None, second: SenseOverlay | None) -> set[int]:
    """Return the tokens whose senses or factors are not equal to the bit in two overlays."""
    old, new = ({} if overlay is None else overlay.rows_by_token for overlay in (first, second))
    return {
        token
        for token in old.keys() | new.keys()
        if not (token in old and token in new and all(map(torch.equal, old[token], new[token])))
    }
