"""The numbers of a K-BERT: those of its encoder, and those by which it reads a text.

Liu et al., K-BERT (arXiv:1909.07606): 12 layers of 768, 12 heads, max_entities 2, max_length 256 (specs/kbert.md,
sections 2 to 4). A checkpoint or a deployment states them; none is assumed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from models.kbert.truncate import Truncate

Norm = Literal["uer", "bert"]
SHORTEST, LONGEST = 8, 512  # of max_length: room for separators and a word; BERT's position table

# Names of the fields in the authors' config.json and in Hugging Face's.
UER_KEYS = {
    "vocab": "vocab_size",
    "positions": "max_positions",
    "segments": "segment_rows",
    "hidden": "hidden_size",
    "feedforward": "feedforward_size",
    "heads": "heads_num",
    "layers": "layers_num",
    "dropout": "dropout",
}
HF_KEYS = {
    "vocab": "vocab_size",
    "positions": "max_position_embeddings",
    "segments": "type_vocab_size",  # one fewer than ours: see `from_hf`
    "hidden": "hidden_size",
    "feedforward": "intermediate_size",
    "heads": "num_attention_heads",
    "layers": "num_hidden_layers",
    "dropout": "hidden_dropout_prob",
}
HF_FIXED = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "position_embedding_type": "absolute",
}


@dataclass(frozen=True)
class EncoderConfig:
    """vocab, positions, segments: rows of the three tables; segment 0 is padding.

    norm: "uer" for what the authors' library calls layer norm, "bert" for BERT's own (norm.py).
    """

    vocab: int
    positions: int
    segments: int
    hidden: int
    feedforward: int
    heads: int
    layers: int
    dropout: float
    norm: Norm

    def __post_init__(self) -> None:
        for name in ("vocab", "positions", "hidden", "feedforward", "heads", "layers"):
            value = getattr(self, name)
            if isinstance(value, bool) or value < 1:
                raise ValueError(f"{name}: a whole number from 1, not {value!r}")
        if self.segments < 3:
            raise ValueError(f"segments: padding and two texts need 3 rows, not {self.segments}")
        if self.hidden % self.heads:
            raise ValueError(f"heads: {self.heads} do not divide a hidden size of {self.hidden}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout: from 0 to below 1, not {self.dropout!r}")
        if self.norm not in get_args(Norm):
            raise ValueError(f"norm: 'uer' or 'bert', not {self.norm!r}")

    @staticmethod
    def from_uer(raw: Mapping[str, Any], norm: Norm) -> "EncoderConfig":
        """ValueError names a key that is missing or wrong."""
        if raw.get("emb_size", raw.get("hidden_size")) != raw.get("hidden_size"):
            raise ValueError(f"emb_size: {raw['emb_size']!r} differs from hidden_size")
        return EncoderConfig(**_numbers(raw, UER_KEYS), norm=norm)

    @staticmethod
    def from_hf(raw: Mapping[str, Any], norm: Norm) -> "EncoderConfig":
        """ValueError names a key that is missing or wrong, or a kind of BERT that this is not."""
        for key, needed in HF_FIXED.items():
            if raw.get(key, needed) != needed:
                raise ValueError(f"{key}: K-BERT's encoder has {needed!r}, not {raw[key]!r}")
        numbers = _numbers({"type_vocab_size": 2} | dict(raw), HF_KEYS)
        return EncoderConfig(**numbers | {"segments": numbers["segments"] + 1}, norm=norm)

    def uer(self) -> dict[str, Any]:
        numbers = {key: getattr(self, name) for name, key in UER_KEYS.items()}
        return {"model_type": "kbert", "emb_size": self.hidden, **numbers, "norm": self.norm}

    def hf(self) -> dict[str, Any]:
        numbers = {key: getattr(self, name) for name, key in HF_KEYS.items()}
        return {**HF_FIXED, **numbers, "type_vocab_size": self.segments - 1}


@dataclass(frozen=True)
class ReadingConfig:
    """max_length: tokens of text and facts together. max_entities: facts on one word, at most.

    truncate: "trunk_first", or "blind" for parity (truncate.py).
    """

    max_length: int
    max_entities: int
    truncate: Truncate = "trunk_first"

    def __post_init__(self) -> None:
        if not SHORTEST <= self.max_length <= LONGEST:
            raise ValueError(f"max_length: from {SHORTEST} to {LONGEST} tokens, not {self.max_length!r}")
        if self.max_entities < 0:
            raise ValueError(f"max_entities: 0 or more facts a word, not {self.max_entities!r}")
        if self.truncate not in get_args(Truncate):
            raise ValueError(f"truncate: 'trunk_first' or 'blind', not {self.truncate!r}")


def _numbers(raw: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Any]:
    missing = [key for key in keys.values() if key not in raw]
    if missing:
        raise ValueError(f"config.json lacks {', '.join(missing)}")
    wrong = [
        key for key in keys.values() if isinstance(raw[key], bool) or not isinstance(raw[key], int | float)
    ]
    if wrong:
        raise ValueError("; ".join(f"{key}: a number, not {raw[key]!r}" for key in wrong))
    return {
        name: float(raw[key]) if name == "dropout" else _whole(key, raw[key]) for name, key in keys.items()
    }


def _whole(key: str, value: float) -> int:
    if not isinstance(value, int):
        raise ValueError(f"{key}: a whole number, not {value!r}")
    return value
