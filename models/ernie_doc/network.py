"""The layers of ERNIE-Doc: three streams of embeddings that are never summed, attention, feed-forward layer, memory.

The norms come behind the residuals; the exact gelu. Modules bear PaddleNLP's
names, so that a checkpoint maps to them by its keys.
"""

from collections.abc import Sequence
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from models.ernie_doc.attention import RelativeAttention, Tables, attention_bias
from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.memory import advance, is_written, kept_index

INITIAL_DEVIATION = 0.02  # standard deviation of the first weights, in the paper and the port
BIASES = ("r_w_bias", "r_r_bias", "r_t_bias")


def feed_order(segment: int, memory: int, device: torch.device) -> Int[Tensor, " place"]:
    """Return the rows in the order 2T+M-1, ..., T, 0, ..., T-1, in which `shift` expects their scores."""
    past = torch.arange(2 * segment + memory - 1, segment - 1, -1, device=device)
    return torch.cat([past, torch.arange(segment, device=device)])


class Embeddings(nn.Module):
    """Words, positions and tasks, each with a norm of its kind (LN0, LN1, LN2)."""

    def __init__(self, config: ErnieDocConfig) -> None:
        super().__init__()
        self.segment, self.memory = config.segment, config.memory
        self.word_emb = nn.Embedding(config.vocab, config.width)
        self.pos_emb = nn.Embedding(config.position_rows, config.width)
        self.token_type_emb = nn.Embedding(config.task_types, config.width)
        self.norms = nn.ModuleList(nn.LayerNorm(config.width, config.embedding_epsilon) for _ in range(3))
        self.dropout = nn.Dropout(config.hidden_dropout)

    def words(self, ids: Int[Tensor, "batch token"]) -> Float[Tensor, "batch token width"]:
        """Return the layer input of each token."""
        states: Tensor = self.dropout(self.norms[0](self.word_emb(ids)))
        return states

    def rows(self) -> Float[Tensor, "place width"]:
        """Return the position stream in feed order; it is the same for every segment."""
        order = feed_order(self.segment, self.memory, self.pos_emb.weight.device)
        states: Tensor = self.dropout(self.norms[1](self.pos_emb(order)))
        return states

    def tasks(self) -> Float[Tensor, "task width"]:
        """Return the task stream by task id."""
        states: Tensor = self.dropout(self.norms[2](self.token_type_emb.weight))
        return states


class FeedForward(nn.Module):
    """W2 drop(gelu(W1 h))."""

    def __init__(self, config: ErnieDocConfig) -> None:
        super().__init__()
        self.linear1, self.linear2 = (
            nn.Linear(config.width, config.inner),
            nn.Linear(config.inner, config.width),
        )
        self.dropout = nn.Dropout(config.inner_dropout)

    def forward(self, states: Float[Tensor, "batch token width"]) -> Float[Tensor, "batch token width"]:
        """Transform each state by itself."""
        out: Tensor = self.linear2(self.dropout(F.gelu(self.linear1(states))))
        return out


class Layer(nn.Module):
    """h = LN(x + attention), y = LN(h + feed-forward)."""

    def __init__(self, config: ErnieDocConfig) -> None:
        super().__init__()
        self.attn = RelativeAttention(config)
        self.ffn = FeedForward(config)
        self.norm1, self.norm2 = (nn.LayerNorm(config.width, config.epsilon) for _ in range(2))
        self.dropout = nn.Dropout(config.hidden_dropout)

    def forward(
        self,
        x: Float[Tensor, "batch token width"],
        memory: Float[Tensor, "batch slot width"],
        key_tasks: Int[Tensor, "batch key"],
        bias: Float[Tensor, "batch 1 query key"],
        tables: Tables,
    ) -> Float[Tensor, "batch token width"]:
        """Return the outputs of the layer, of which the next memory is made."""
        h = self.norm1(x + self.dropout(self.attn(x, memory, key_tasks, bias, tables)))
        y: Tensor = self.norm2(h + self.dropout(self.ffn(h)))
        return y


class Encoder(nn.Module):
    """All layers over one segment."""

    def __init__(self, config: ErnieDocConfig) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))

    def share_biases(self) -> None:
        """Let all layers use the u, w and s of the first."""
        first, *following = self._attentions
        for attention in following:
            for name in BIASES:
                setattr(attention, name, getattr(first, name))

    def tables(self, rows: Float[Tensor, "place width"], tasks: Float[Tensor, "task width"]) -> list[Tables]:
        """Project the position and task streams for each layer."""
        return [attention.tables(rows, tasks) for attention in self._attentions]

    def forward(
        self,
        x: Float[Tensor, "batch token width"],
        tasks: Int[Tensor, "batch token"],
        mask: Float[Tensor, "batch token"],
        memory: Float[Tensor, "layer batch slot width"],
        tables: Sequence[Tables],
    ) -> tuple[Float[Tensor, "batch token width"], Float[Tensor, "layer batch slot width"]]:
        """Read one segment.

        Returns:
            Outputs of the last layer, and the memory for the next segment in float32 and without a gradient.
        """
        first = tasks[:1, :1] if self.config.shares_memory_task else tasks[:, :1]
        key_tasks = torch.cat([first.expand(len(tasks), self.config.memory), tasks], 1)
        memory_mask = memory.new_ones(memory.shape[1:3])
        if self.config.mask_empty_memory:
            memory_mask = is_written(memory).to(memory.dtype)
        bias = attention_bias(mask, memory_mask, self.config.mask_value)
        index, next_memory = kept_index(mask, self.config), []
        for number, layer in enumerate(self.layers):
            x = layer(x, memory[number], key_tasks, bias, tables[number])
            next_memory.append(advance(memory[number], x, index))
        return x, torch.stack(next_memory)

    @property
    def _attentions(self) -> list[RelativeAttention]:
        return [cast(RelativeAttention, layer.attn) for layer in self.layers]


@torch.no_grad()
def initialize(module: nn.Module) -> None:
    """Draw weights from N(0, 0.02) and set biases to 0, for `module.apply`."""
    if isinstance(module, nn.Linear | nn.Embedding):
        module.weight.normal_(0.0, INITIAL_DEVIATION)
    if isinstance(module, nn.Linear) and module.bias is not None:
        module.bias.zero_()
