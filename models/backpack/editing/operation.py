"""The effect of a change on the senses of one token, and the overlay of all changes of a version.

Hewitt et al., arXiv:2305.16765, section 5. A block stores the operation and not its result: changes of one token
compose in ledger order, and the overlay is rebuilt from the base, so undo is exact to the bit.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from models.backpack.interventions import SenseOverlay, project
from models.backpack.network import Backpack
from models.memory import Block

SENSE: Literal["sense"] = "sense"  # kind of these changes and of their blocks
Action = Literal["project", "transplant", "overwrite", "factor"]


@dataclass(frozen=True)
class SenseOperation:
    """One change.

    Attributes:
        action: Kind of the change.
        word: Token whose senses change.
        away: Token whose direction is replaced.
        towards: Tokens that the senses go towards.
        senses: Numbers of the senses that change.
        strength: How far to go from the old senses to the new ones.
        factor: Factor on the weights.
        orthogonal: Whether the rest of `away` is removed.
    """

    action: Action
    word: int
    away: int | None
    towards: tuple[int, ...]
    senses: tuple[int, ...]
    strength: float
    factor: float | None
    orthogonal: bool

    def to_block(self, key: str) -> Block:
        """Return the block that stores the operation."""
        data = json.dumps(asdict(self), sort_keys=True).encode()
        return Block.of(key, 0, SENSE, {"json": torch.tensor(list(data), dtype=torch.uint8)})

    @staticmethod
    def of(block: Block) -> "SenseOperation":
        """Read the operation of a block."""
        content = json.loads(bytes(block.tensors["json"].tolist()))
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
        if self.action == "transplant":
            target = read_senses(model, self.towards[0])[list(self.senses)]
        else:
            target = self._point(model, rows)
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


def compose(model: Backpack, blocks: Iterable[Block]) -> SenseOverlay | None:
    """Return the overlay that changes give in the order of their blocks; None without any."""
    senses: dict[int, Tensor] = {}
    factors: dict[int, Tensor] = {}
    for block in blocks:
        operation = SenseOperation.of(block)
        rows = senses.get(operation.word, read_senses(model, operation.word))
        weights = factors.get(operation.word, torch.ones_like(rows[:, 0]))
        senses[operation.word], factors[operation.word] = operation.apply(model, rows, weights)
    return SenseOverlay.of(senses, factors, {}) if senses else None


def find_differing(first: SenseOverlay | None, second: SenseOverlay | None) -> set[int]:
    """Return the tokens whose senses or factors are not equal to the bit in two overlays."""
    old, new = ({} if overlay is None else overlay.rows_by_token for overlay in (first, second))
    shared = old.keys() & new.keys()
    return (old.keys() ^ new.keys()) | {token for token in shared if not _is_equal(old[token], new[token])}


def _is_equal(first: Iterable[Tensor], second: Iterable[Tensor]) -> bool:
    return all(torch.equal(row, other) for row, other in zip(first, second, strict=True))
