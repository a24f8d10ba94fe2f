"""The layers of ERNIE-Doc: three streams of embeddings that are never summed, attention, feed-forward layer, memory.

Relative attention over memory and segment: the row of a position, the scores and their mask.

Ding et al. (arXiv:2012.15688) after Transformer-XL (arXiv:1901.02860), equation of section 3.3. With c = [memory ; x]:

    q = Wq x, k = Wk c, v = Wv c, r = Wr pos, t = Wt tsk
    score(i, j) = ((q_i + u) k_j + (q_i + w) r_row(i,j) + (q_i + s) t_j) / sqrt(d) + bias(i, j)

u, w and s are `r_w_bias`, `r_r_bias` and `r_t_bias`. The attention is bidirectional within the segment. Scores, bias
and softmax are float32 whatever the weights are. With d = (M + i) - j for query i of a segment and key j of c:

    row(i, j) = T - 1 + d   if d > 0    (past, memory included)
    row(i, j) = -d          if d <= 0   (self is row 0, then the future)

The norms come behind the residuals; the exact gelu. Modules bear PaddleNLP's
names, so that a checkpoint maps to them by its keys.
"""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.memory import advance, is_written, kept_index


def feed_order(segment: int, memory: int, device: torch.device) -> Int[Tensor, " place"]:
    """Return the rows in the order 2T+M-1, ..., T, 0, ..., T-1, in which `shift` expects their scores."""
    past = torch.arange(2 * segment + memory - 1, segment - 1, -1, device=device)
    return torch.cat([past, torch.arange(segment, device=device)])


def shift(scores: Float[Tensor, "batch head query place"]) -> Float[Tensor, "batch head query key"]:
    """Pick the score of row(i, j) for each query i and key j.

    In feed order that row stands at place T + j - i for the past and the future alike. One step down and one place to
    the left is a constant step in memory, so the scores are viewed with rows that are shorter by one.
    """
    batch, heads, segment, places = scores.shape
    flat = scores.reshape(batch, heads, segment * places)[..., segment:]
    return flat.view(batch, heads, segment, places - 1)[..., : places - segment]


class Tables(NamedTuple):
    """The tables that one layer attends to besides states: they depend on weights alone and are computed once."""

    rows: Float[Tensor, "head place d"]  # r, projected rows of the position table in feed order
    tasks: Float[Tensor, "head task d"]  # t, projected rows of the task table


def attention_bias(
    mask: Float[Tensor, "batch query"], memory_mask: Float[Tensor, "batch slot"], mask_value: float
) -> Float[Tensor, "batch 1 query key"]:
    """Return the addition to the scores: 0 where a query sees a key, -mask_value elsewhere.

    A padded query sees nothing: its scores vanish in the rounding, and its attention is uniform.
    """
    visible = torch.cat([memory_mask, mask], 1).float()
    return ((mask.float()[:, :, None] * visible[:, None, :] - 1) * mask_value)[:, None]


class RelativeAttention(nn.Module):
    """The attention of one layer; parameters bear PaddleNLP's names."""

    def __init__(self, config: ErnieDocConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(width, width) for _ in range(3))
        self.r_proj, self.t_proj, self.out_proj = (nn.Linear(width, width) for _ in range(3))
        self.r_w_bias, self.r_r_bias, self.r_t_bias = (nn.Parameter(torch.zeros(width)) for _ in range(3))
        self.dropout = nn.Dropout(config.attention_dropout)

    def tables(self, rows: Float[Tensor, "place width"], tasks: Float[Tensor, "task width"]) -> Tables:
        """Project the position and task streams for this layer."""
        return Tables(
            rearrange(self.r_proj(rows), "place (head d) -> head place d", head=self.heads),
            rearrange(self.t_proj(tasks), "task (head d) -> head task d", head=self.heads),
        )

    def forward(
        self,
        x: Float[Tensor, "batch token width"],
        memory: Float[Tensor, "batch slot width"],
        key_tasks: Int[Tensor, "batch key"],
        bias: Float[Tensor, "batch 1 query key"],
        tables: Tables,
    ) -> Float[Tensor, "batch token width"]:
        """Attend from the segment to memory and segment."""
        states = torch.cat([memory.to(x.dtype), x], 1)
        keys, values = self._split(self.k_proj(states)), self._split(self.v_proj(states))
        scores = self._scores(self.q_proj(x), keys, key_tasks, tables)
        weights = self.dropout(torch.softmax(scores + bias, -1))
        context = rearrange(weights.to(values.dtype) @ values, "batch head token d -> batch token (head d)")
        out: Tensor = self.out_proj(context)
        return out

    def _scores(
        self,
        query: Float[Tensor, "batch token width"],
        keys: Float[Tensor, "batch head key d"],
        key_tasks: Int[Tensor, "batch key"],
        tables: Tables,
    ) -> Float[Tensor, "batch head token key"]:
        """Return the scores; (q + u) k + (q + s) t is computed as (q + u) (k + t) + (s - u) t, in one product."""
        tasks = rearrange(tables.tasks[:, key_tasks], "head batch key d -> batch head key d")
        by_content = self._split(query + self.r_w_bias) @ (keys + tasks).mT
        by_place = self._split(query + self.r_r_bias) @ tables.rows.mT
        by_task = tasks @ rearrange(self.r_t_bias - self.r_w_bias, "(head d) -> head d 1", head=self.heads)
        scores = by_content.float() + shift(by_place).float() + by_task.float().mT
        return scores / sqrt(keys.shape[-1])

    def _split(self, states: Float[Tensor, "batch token width"]) -> Float[Tensor, "batch head token d"]:
        return rearrange(states, "batch token (head d) -> batch head token d", head=self.heads)


INITIAL_DEVIATION = 0.02  # standard deviation of the first weights, in the paper and the port
BIASES = ("r_w_bias", "r_r_bias", "r_t_bias")


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
        key_tasks = torch.cat([self._memory_tasks(tasks), tasks], 1)
        bias = attention_bias(mask, self._memory_mask(memory), self.config.mask_value)
        index, next_memory = kept_index(mask, self.config), []
        for number, layer in enumerate(self.layers):
            x = layer(x, memory[number], key_tasks, bias, tables[number])
            next_memory.append(advance(memory[number], x, index))
        return x, torch.stack(next_memory)

    @property
    def _attentions(self) -> list[RelativeAttention]:
        return [cast(RelativeAttention, layer.attn) for layer in self.layers]

    def _memory_tasks(self, tasks: Int[Tensor, "batch token"]) -> Int[Tensor, "batch slot"]:
        first = tasks[:1, :1] if self.config.shares_memory_task else tasks[:, :1]
        return first.expand(len(tasks), self.config.memory)

    def _memory_mask(self, memory: Float[Tensor, "layer batch slot width"]) -> Float[Tensor, "batch slot"]:
        if self.config.mask_empty_memory:
            return is_written(memory).to(memory.dtype)
        return memory.new_ones(memory.shape[1:3])


@torch.no_grad()
def initialize(module: nn.Module) -> None:
    """Draw weights from N(0, 0.02) and set biases to 0, for `module.apply`."""
    if isinstance(module, nn.Linear | nn.Embedding):
        module.weight.normal_(0.0, INITIAL_DEVIATION)
    if isinstance(module, nn.Linear) and module.bias is not None:
        module.bias.zero_()
