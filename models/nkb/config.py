"""Which decoder layers carry a bank, how large it is, and the authors' spelling of both.

Dai et al., Neural Knowledge Bank (arXiv:2208.00399). Their checkpoints keep `kb_layer` (a comma string),
`ex_size` and `adaptive_nkb` in config.json.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LAYERS, SIZE, ADAPTIVE = "kb_layer", "ex_size", "adaptive_nkb"
KEYS = (LAYERS, SIZE, ADAPTIVE)


@dataclass(frozen=True)
class BankConfig:
    """layers: decoder layers with a bank, ascending. size: slots of each (d'). adaptive: with linear maps."""

    layers: tuple[int, ...]
    size: int
    adaptive: bool

    def __post_init__(self) -> None:
        if any(layer < 0 for layer in self.layers):
            raise ValueError(f"{LAYERS}: layers count from 0, not {self.layers!r}")
        if list(self.layers) != sorted(set(self.layers)):
            raise ValueError(f"{LAYERS}: {self.layers!r} must name each layer once, in ascending order")
        if self.size < (1 if self.layers else 0):
            raise ValueError(f"{SIZE}: a bank has at least one slot, not {self.size}")

    @staticmethod
    def parse(config: Mapping[str, Any]) -> "BankConfig":
        """The bank that a checkpoint's config.json describes; no layers when it describes a plain T5."""
        layers = _layers(config.get(LAYERS, ""))
        if layers and SIZE not in config:
            raise ValueError(f"{SIZE} is missing, but {LAYERS} says {config[LAYERS]!r}: how many slots?")
        size, adaptive = config.get(SIZE, 0), config.get(ADAPTIVE, False)
        if not isinstance(size, int) or isinstance(size, bool):
            raise ValueError(f"{SIZE}: a whole number of slots, not {size!r}")
        if not isinstance(adaptive, bool):
            raise ValueError(f"{ADAPTIVE}: true or false, not {adaptive!r}")
        return BankConfig(layers, size, adaptive)

    def format(self) -> dict[str, Any]:
        """The authors' keys, as `parse` reads them."""
        return {LAYERS: ",".join(map(str, self.layers)), SIZE: self.size, ADAPTIVE: self.adaptive}

    def check(self, n_layers: int) -> None:
        """ValueError unless a decoder of `n_layers` has all these layers."""
        for layer in self.layers:
            if layer >= n_layers:
                raise ValueError(
                    f"{LAYERS}: layer {layer} does not exist, the decoder has 0 to {n_layers - 1}"
                )


def _layers(text: object) -> tuple[int, ...]:
    if not isinstance(text, str):
        raise ValueError(f"{LAYERS}: a comma string such as '10,11', not {text!r}")
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if not all(part.isdecimal() for part in parts):
        raise ValueError(f"{LAYERS}: layer numbers separated by commas, such as '10,11', not {text!r}")
    return tuple(sorted(int(part) for part in parts))
