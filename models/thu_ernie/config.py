"""The sizes of a THU-ERNIE model, and which of its layers carry entities.

Zhang et al., ERNIE, ACL 2019 (arXiv:1905.07129), section 3. The file is the authors' `ernie_config.json`; the width of
an entity vector and the heads of the entity attention are constants of their code and keys of ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

LayerKind: TypeAlias = Literal["sim", "mix", "norm"]
KINDS: tuple[LayerKind, ...] = get_args(LayerKind)
ENTITY_SIZE, ENTITY_HEADS = 100, 4  # Constants of the authors' code

# Our name, the name in the authors' file.
NAMES = {
    "vocab": "vocab_size",
    "width": "hidden_size",
    "heads": "num_attention_heads",
    "inner": "intermediate_size",
    "positions": "max_position_embeddings",
    "segments": "type_vocab_size",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "init_std": "initializer_range",
}
SIZES = ("vocab", "width", "heads", "inner", "positions", "segments", "entity_size", "entity_heads")
LAYERS, LAYER_TYPES, ACTIVATION = "num_hidden_layers", "layer_types", "hidden_act"


class ConfigError(ValueError):
    """A configuration that describes no model. The sentence names the key."""


@dataclass(frozen=True)
class ErnieConfig:
    """Sizes of the network."""

    vocab: int
    width: int  # width of a token state
    heads: int
    inner: int  # width of the layer in which tokens and entities meet
    positions: int  # longest text in tokens
    segments: int
    kinds: tuple[
        LayerKind, ...
    ]  # `sim` is BERT's, `mix` fuses, `norm` fuses after an attention between entities
    entity_size: int
    entity_heads: int
    dropout: float
    attention_dropout: float
    init_std: float

    def __post_init__(self) -> None:
        for name in SIZES:
            size = getattr(self, name)
            if size < 1:
                raise ConfigError(
                    f"{NAMES.get(name, name)} is {size!r}: it has to be a whole number from 1 on"
                )
        for name in ("dropout", "attention_dropout"):
            share = getattr(self, name)
            if not 0 <= share < 1:
                raise ConfigError(f"{NAMES[name]} is {share!r}: it has to be a share from 0 to below 1")
        for width, heads in (("width", "heads"), ("entity_size", "entity_heads")):
            if getattr(self, width) % getattr(self, heads):
                raise ConfigError(
                    f"{NAMES.get(heads, heads)} is {getattr(self, heads)}, which does not divide "
                    f"{NAMES.get(width, width)} {getattr(self, width)}"
                )
        if not self.kinds:
            raise ConfigError(f"{LAYERS} is 0: a network has one layer or more")

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> "ErnieConfig":
        """Read the content of `ernie_config.json`, or of a BERT's `config.json` with the key `layer_types` added.

        Raises:
            ConfigError: A key is missing, or its value describes no THU-ERNIE.
        """
        if missing := [name for name in (*NAMES.values(), LAYERS, LAYER_TYPES) if content.get(name) is None]:
            raise ConfigError(f"the configuration lacks {', '.join(missing)}")
        if content.get(ACTIVATION, "gelu") != "gelu":
            raise ConfigError(f"{ACTIVATION} is {content[ACTIVATION]!r}; a THU-ERNIE has gelu")
        sizes: dict[str, Any] = {field: _number(content[name], name) for field, name in NAMES.items()}
        for field, default in (("entity_size", ENTITY_SIZE), ("entity_heads", ENTITY_HEADS)):
            sizes[field] = _number(content.get(field, default), field)
        layers = _number(content[LAYERS], LAYERS)
        return ErnieConfig(**sizes, kinds=_check(content[LAYER_TYPES], layers))

    def to_json(self) -> dict[str, Any]:
        """Return the configuration under the names of the authors' file."""
        sizes = {name: getattr(self, field) for field, name in NAMES.items()}
        entities = {"entity_size": self.entity_size, "entity_heads": self.entity_heads}
        layers = {LAYERS: len(self.kinds), LAYER_TYPES: list(self.kinds), ACTIVATION: "gelu"}
        return sizes | entities | layers


def _number(value: Any, name: str) -> Any:
    is_share = name in (NAMES["dropout"], NAMES["attention_dropout"], NAMES["init_std"])
    if not isinstance(value, int | float if is_share else int):
        raise ConfigError(f"{name} is {value!r}: it has to be a {'' if is_share else 'whole '}number")
    return value


def _check(kinds: Any, layers: int) -> tuple[LayerKind, ...]:
    """Return the kind of each layer."""
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise ConfigError(f"{LAYER_TYPES} is {kinds!r}: it has to be a list of {', '.join(KINDS)}")
    if unknown := sorted(set(kinds) - set(KINDS)):
        raise ConfigError(f"{LAYER_TYPES} names {', '.join(unknown)}: a layer is one of {', '.join(KINDS)}")
    if len(kinds) != layers:
        raise ConfigError(
            f"{LAYER_TYPES} has {len(kinds)} entries and {LAYERS} is {layers}: give each layer a kind"
        )
    return tuple(kinds)
