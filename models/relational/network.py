"""Relational attention: where a walk goes next, from what the question still asks and from the edges that there are.

C. Diao, R. Loynd, Relational Attention, 2022, as rules in specs/rules.md, section 3. For a walk that stands at node i:

    n'   = sum_t a_t x_t,  a = softmax_t(y_t (u_hop + Wvn n + Wve e))     state: the words that this hop asks with
    q_i  = M n',  k_ij = M e_ij                                           query from the state, key from the edge
    w_ij = softmax_j(scale cos(q_i, k_ij))                                over the edges that leave i, and two more

x are the frozen encoder's token states, y what the trained layers make of them, e_ij the vector of the edge's relation,
n and e those of the step before. Wvn n + Wve e is the value that the walked edge carries on. The two more keys at each
node are trained vectors: `stay` ends the walk there, `null` says that no edge here is the one that is asked for.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from models.encoder.minilm import WIDTH
from models.relational.question import TokenStates

MAX_HOPS = 3  # the longest path of facts; longer questions were never written for training
FORMS = (
    "entities",
    "count",
    "yes_no",
)  # kinds of answers that a question wants of the last nodes of its path
NULL, STAY, FIRST_LABEL = 0, 1, 2  # rows of the keys; labels of relations follow
FIRST_SCALE = 10.0  # scale of cosines before training


@dataclass(frozen=True)
class Config:
    """All sizes of one reader."""

    width: int  # width of the layers that read the question behind the frozen encoder
    heads: int  # attention heads of these layers
    layers: int  # number of these layers
    rank: int  # rank of the map in which a question's state and a relation's label are compared
    hops: int  # largest number of facts on a path
    # Largest number of facts of one entity that are walked; the first ones in the order of the graph
    fan_out: int
    max_nodes: int  # largest number of nodes of a sub-graph
    beams: int  # walks of one question that are followed at each hop
    # Largest number of facts about one entity that are walked back to their subjects; 0 for a reader that was trained
    # to walk from subjects to objects alone
    fan_in: int = 0

    def __post_init__(self) -> None:
        """Refuse sizes that make no reader."""
        if not 1 <= self.hops <= MAX_HOPS:
            raise ValueError(f"hops: from 1 to {MAX_HOPS} facts on a path, not {self.hops!r}")
        if self.width % self.heads:
            raise ValueError(f"width: a multiple of the {self.heads} heads, not {self.width!r}")
        if self.fan_in < 0:
            raise ValueError(f"fan_in: 0 or more, not {self.fan_in!r}")
        for name in ("width", "heads", "rank", "fan_out", "max_nodes", "beams"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: 1 or more, not {getattr(self, name)!r}")


@dataclass(frozen=True)
class Reading:
    """Questions as the trained layers leave them."""

    states: Float[Tensor, "batch token width"]  # the frozen encoder's token states, x
    tokens: Float[Tensor, "batch token inner"]  # the trained layers' token states, y
    mask: Bool[Tensor, "batch token"]  # true at real tokens
    # Log-probability that each mention is where the path begins; minus infinity where there is none
    starts: Float[Tensor, "batch mention"]
    forms: Float[Tensor, "batch form"]  # Log-probability of each of FORMS


class RelationalNetwork(nn.Module):
    """The trained part of the reader; deterministic, and without dropout."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.project = nn.Linear(WIDTH, config.width)
        layer = nn.TransformerEncoderLayer(
            config.width, config.heads, 2 * config.width, 0.0, F.gelu, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(
            layer, config.layers, nn.LayerNorm(config.width), enable_nested_tensor=False
        )
        self.hop_queries = nn.Parameter(torch.randn(config.hops, config.width) * config.width**-0.5)
        self.value_state = nn.Linear(WIDTH, config.width, bias=False)
        self.value_edge = nn.Linear(WIDTH, config.width, bias=False)
        self.bend_down = nn.Linear(WIDTH, config.rank, bias=False)
        self.bend_up = nn.Linear(config.rank, WIDTH, bias=False)
        self.special_keys = nn.Parameter(torch.randn(FIRST_LABEL, WIDTH) * WIDTH**-0.5)
        self.special_bias = nn.Parameter(torch.zeros(FIRST_LABEL))
        self.log_scale = nn.Parameter(torch.tensor(math.log(FIRST_SCALE)))
        self.form = nn.Linear(config.width, len(FORMS))
        self.start = nn.Linear(config.width, 1)
        nn.init.zeros_(self.bend_up.weight)  # M is the identity before training

    def read(self, texts: TokenStates) -> Reading:
        """Read questions behind the frozen encoder."""
        tokens = self.layers(self.project(texts.states), src_key_padding_mask=~texts.mask)
        mean = (tokens * texts.mask[..., None]).sum(1) / texts.mask.sum(1, keepdim=True)
        starts = _mention_scores(self.start(tokens)[..., 0], texts.starts)
        return Reading(texts.states, tokens, texts.mask, starts, self.form(mean).log_softmax(-1))

    def states(
        self,
        reading: Reading,
        hop: int,
        questions: Int[Tensor, " walk"],
        value: Float[Tensor, "walk inner"] | None,
    ) -> Float[Tensor, "walk width"]:
        """Return the state n' of each walk at a hop.

        Args:
            value: The value that the last edge of each walk brought; None before the first hop.
        """
        control = self.hop_queries[hop].expand(len(questions), -1)
        control = control if value is None else control + value
        scores = torch.einsum("wtd,wd->wt", reading.tokens[questions], control)
        scores = scores.masked_fill(~reading.mask[questions], -torch.inf)
        return torch.einsum("wt,wtd->wd", scores.softmax(-1), reading.states[questions])

    def carry(
        self, states: Float[Tensor, "walk width"], edges: Float[Tensor, "walk width"]
    ) -> Float[Tensor, "walk inner"]:
        """Return the value that an edge carries on: Wvn n + Wve e."""
        value: Tensor = self.value_state(F.normalize(states, dim=-1)) + self.value_edge(edges)
        return value

    def keys(self, labels: Float[Tensor, "label width"]) -> Float[Tensor, "key width"]:
        """Return the keys of null, stay and the labels of relations, in this order."""
        return self._bend(torch.cat([self.special_keys, labels]))

    def weights(
        self,
        states: Float[Tensor, "walk width"],
        keys: Float[Tensor, "key width"],
        allowed: Bool[Tensor, "visit key"],
        walks: Int[Tensor, " visit"],
    ) -> Float[Tensor, "visit key"]:
        """Return the logarithm of w: how a walk at a node spreads over the relations that leave it.

        Args:
            keys: What `keys` returned.
        """
        bias = F.pad(self.special_bias, (0, len(keys) - FIRST_LABEL))
        scores = self.log_scale.exp() * (self._bend(states) @ keys.T) + bias
        return scores[walks].masked_fill(~allowed, -torch.inf).log_softmax(-1)

    def _bend(self, vectors: Float[Tensor, "row width"]) -> Float[Tensor, "row width"]:
        plain = F.normalize(vectors, dim=-1)
        return F.normalize(plain + self.bend_up(self.bend_down(plain)), dim=-1)


def _mention_scores(
    scores: Float[Tensor, "batch token"], mentions: Bool[Tensor, "batch mention token"]
) -> Float[Tensor, "batch mention"]:
    """Return the log-probability of each mention from the mean score of its tokens; all are equal without any."""
    n_tokens = mentions.sum(-1)
    means = torch.einsum("bmt,bt->bm", mentions.to(scores.dtype), scores) / n_tokens.clamp(min=1)
    is_there = (n_tokens > 0) | ~(n_tokens > 0).any(-1, keepdim=True)
    return means.masked_fill(~is_there, -torch.inf).log_softmax(-1)
