"""The reader while it learns: MiniLM's layers and a head that points.

The head is that of Ram et al. (arXiv:2101.00438, section 3.2): a question is the state q of its [MASK], and a token
with state x begins its answer with the logit x^T S q and ends it with x^T L q.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from models.encoder.bert import EPSILON, HEADS, LAYERS, WIDTH
from models.encoder.weights import find
from models.training.reading.rows import Batch

NEVER = -1e4  # logit of a token that is no part of the text


class ReadingNet(nn.Module):
    """MiniLM with the head; tensors bear Hugging Face's names."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        config = BertConfig(
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            intermediate_size=4 * WIDTH,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=0.0,
            layer_norm_eps=EPSILON,
        )
        self.bert = BertModel(config, add_pooling_layer=False)
        self.bert.load_state_dict(dict(find().weights), strict=False)
        self.bert.embeddings.word_embeddings.weight.requires_grad_(False)
        self.first, self.last = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))

    def forward(self, batch: Batch) -> Float[Tensor, "question token 2"]:
        """Return the logits of the first and the last token of each question's answer; place 0 is no answer."""
        states = self.bert(batch.ids, attention_mask=batch.is_real.long()).last_hidden_state
        questions = states[batch.rows, batch.asks]
        logits = torch.stack(
            [
                torch.einsum("qtw,qw->qt", states[batch.rows], head(questions))
                for head in (self.first, self.last)
            ],
            -1,
        )
        logits = logits.float() * WIDTH**-0.5
        masked: Tensor = logits.masked_fill(~batch.may_answer[..., None], NEVER)
        return masked

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Start from the tensors of a checkpoint, as `weights` returns them."""
        names = {name: name if name.startswith(("first.", "last.")) else f"bert.{name}" for name in weights}
        faults = self.load_state_dict(
            {names[name]: value.float() for name, value in weights.items()}, strict=False
        )
        if faults.unexpected_keys or any("word_embeddings" not in name for name in faults.missing_keys):
            raise ValueError(f"these are not the weights of a reader: {faults}")

    def weights(self) -> Mapping[str, Tensor]:
        """Return the tensors that a checkpoint stores: all but the words, which stay MiniLM's."""
        return {
            name.removeprefix("bert."): value.detach()
            for name, value in self.state_dict().items()
            if "word_embeddings" not in name and "position_ids" not in name
        }
