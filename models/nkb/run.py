"""What one decoding call carries from step to step: the cache, and what each row left in the batch reads."""

from dataclasses import dataclass, field

from jaxtyping import Float, Int
from torch import Tensor

from models.nkb.reads import Changes, Gates


@dataclass
class Run:
    """Mutable, owned by one call.

    cache: keys and values of the tokens so far; only the first `length` tokens are written.
    crossed: keys and values of the encoder's states. unseen: 0 at real states, very negative at padding.
    """

    cache: Float[Tensor, "layer 2 batch head capacity d_kv"]
    crossed: Float[Tensor, "layer 2 batch head state d_kv"]
    unseen: Float[Tensor, "batch 1 1 state"]
    changes: dict[int, Changes] = field(default_factory=dict)
    gates: Gates | None = None
    length: int = 0

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Go on with these rows of the batch only, in this order; a row may be named more than once."""
        self.cache = _select_written(self.cache, rows, self.length)
        self.crossed = self.crossed.index_select(2, rows)
        self.unseen = self.unseen[rows]
        self.changes = {layer: change.select(rows) for layer, change in self.changes.items()}
        self.gates = None if self.gates is None else self.gates.select(rows)


def _select_written(cache: Tensor, rows: Tensor, length: int) -> Tensor:
    n_layers, two, _, heads, capacity, d_kv = cache.shape
    kept = cache.new_empty(n_layers, two, len(rows), heads, capacity, d_kv)
    kept[..., :length, :] = cache[..., :length, :].index_select(2, rows)
    return kept
