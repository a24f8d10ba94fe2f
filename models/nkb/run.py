"""What a decoding call keeps from step to step."""

from dataclasses import dataclass, field

from jaxtyping import Float, Int
from torch import Tensor

from models.nkb.overlay import Changes, GateRows


@dataclass
class Run:
    """State of one decoding call from step to step. It changes, and belongs to that call."""

    # Keys of the tokens so far in layer 0, their values, those of layer 1 ...: [batch head length d_kv] each
    cache: list[Tensor]
    encoder_kv: list[Tensor]  # keys and values of the encoder's states likewise: [batch head state d_kv] each
    bias: Float[Tensor, "batch 1 1 state"]  # 0 at real states, very negative at padding
    changes: dict[int, Changes] = field(default_factory=dict)
    gates: GateRows | None = None

    @property
    def length(self) -> int:
        """Tokens so far."""
        return self.cache[0].shape[2]

    def select(self, rows: Int[Tensor, " row"]) -> None:
        """Keep these rows of the batch only, in this order; a row may be named more than once."""
        self.cache = [part[rows] for part in self.cache]
        self.encoder_kv = [part[rows] for part in self.encoder_kv]
        self.bias = self.bias[rows]
        self.changes = {layer: change.select(rows) for layer, change in self.changes.items()}
        self.gates = None if self.gates is None else self.gates.select(rows)
