"""The first weights of ERNIE-Doc, which are MiniLM's.

Its encoder is BERT's with H = 384 and 12 heads, which is ERNIE-Doc's without memory, positions and tasks. MiniLM adds
positions and a token type to its words before the norm; here their mean is added to the word table, so that the norm
sees what it was trained on.
"""

from collections.abc import Mapping

from torch import Tensor

from models.encoder.bert import count_layers
from models.encoder.weights import find
from models.kit.checkpoint import (
    fitting,
)

WORDS = "embeddings.word_emb.weight"
LAYER_NAMES = {
    "attn.q_proj": "attention.self.query",
    "attn.k_proj": "attention.self.key",
    "attn.v_proj": "attention.self.value",
    "attn.out_proj": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "ffn.linear1": "intermediate.dense",
    "ffn.linear2": "output.dense",
    "norm2": "output.LayerNorm",
}
KINDS = ("weight", "bias")


def minilm_weights(
    expected: Mapping[str, Tensor], layers: Mapping[str, Tensor] | None = None
) -> dict[str, Tensor]:
    """Return MiniLM's tensors under the names of `ErnieDoc`.

    Args:
        expected: The tensors of a model; only those of the same shape are returned, and layers it has.
        layers: Trained tensors that stand in the place of MiniLM's; its words stay.

    Raises:
        EncoderNotFound: MiniLM's files are not there.
    """
    weights = find().weights
    places = weights["embeddings.position_embeddings.weight"].mean(0)
    types = weights["embeddings.token_type_embeddings.weight"][0]
    tensors = {WORDS: weights["embeddings.word_embeddings.weight"] + types + places}
    weights = {**weights, **(layers or {})}
    for kind in KINDS:
        tensors[f"embeddings.norms.0.{kind}"] = weights[f"embeddings.LayerNorm.{kind}"]
        tensors |= {
            f"encoder.layers.{number}.{name}.{kind}": weights[f"encoder.layer.{number}.{source}.{kind}"]
            for number in range(count_layers(weights))
            for name, source in LAYER_NAMES.items()
        }
    return fitting(tensors, expected)
