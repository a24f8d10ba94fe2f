"""The default backbone is T5's decoder reading a frozen MiniLM's states through one linear map.

Raffel et al., T5 (arXiv:1910.10683), the decoder; Wang et al., MiniLM (arXiv:2002.10957), the encoder. A small
T5 encoder trained here on a few thousand facts would know the training phrasings only; a pretrained one knows
that "Peru's capital city?" and "What is the capital of Peru?" ask for the same thing.
"""

from dataclasses import dataclass

from transformers import T5Config, T5ForConditionalGeneration

from models.nkb.projection import Projection


@dataclass(frozen=True)
class BackboneConfig:
    """Shape of the decoder; `vocab` counts the pieces of the answer tokenizer."""

    vocab: int
    d_model: int
    d_kv: int
    d_ff: int
    heads: int
    layers: int
    dropout: float

    def t5(self) -> T5Config:
        return T5Config(
            vocab_size=self.vocab,
            d_model=self.d_model,
            d_kv=self.d_kv,
            d_ff=self.d_ff,
            num_heads=self.heads,
            num_layers=self.layers,  # transformers sizes the decoder's cache by the layers of the encoder
            num_decoder_layers=self.layers,
            dropout_rate=self.dropout,
            feed_forward_proj="relu",
            tie_word_embeddings=True,
            decoder_start_token_id=0,
            pad_token_id=0,
            eos_token_id=1,
        )


def build(config: T5Config) -> T5ForConditionalGeneration:
    """Build a decoder with random weights behind a projection, which is its `encoder`."""
    t5 = T5ForConditionalGeneration(config)
    t5.encoder = Projection(config.d_model)
    return t5
