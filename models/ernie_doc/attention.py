"""Relative attention over memory and segment: the row of a position, the scores and their mask.

Ding et al. (arXiv:2012.15688) after Transformer-XL (arXiv:1901.02860), equation of section 3.3. With c = [memory ; x]:

    q = Wq x, k = Wk c, v = Wv c, r = Wr pos, t = Wt tsk
    score(i, j) = ((q_i + u) k_j + (q_i + w) r_row(i,j) + (q_i + s) t_j) / sqrt(d) + bias(i, j)

u, w and s are `r_w_bias`, `r_r_bias` and `r_t_bias`. The attention is bidirectional within the segment. Scores, bias
and softmax are float32 whatever the weights are. With d = (M + i) - j for query i of a segment and key j of c:

    row(i, j) = T - 1 + d   if d > 0    (past, memory included)
    row(i, j) = -d          if d <= 0   (self is row 0, then the future)
"""

from math import sqrt
from typing import NamedTuple

import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from models.ernie_doc.config import ErnieDocConfig


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
