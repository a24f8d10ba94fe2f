"""Reserved gated slots: each edit owns a gate on the question and one value per answer token.

Our addition, not in the paper's eq. 8-10 (a T-Patcher neuron, arXiv:2301.09785, with a scope like SERAC's,
arXiv:2206.06520, and a solved value). When the gate is open, slot j replaces what the bank adds at decode step j:

    x_j = s_j + v_j,   v_j = beta_j u_j,   u_j a unit direction in which token y_j beats every other

where s_j enters the final norm when the bank is silent. Because the bank is replaced and not added to, an edit
never depends on another one, and a value solved once holds for good. Only the question decides which states s_j
come up, so beta_j is taken large enough for a sample of them, not for the edit's own alone.

u depends on the token alone, so all are found once and lie beside the checkpoint (`find_pushes`). An edit solves only
beta, in coarse steps, so that it has the same bits whatever else was made with it or before it.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

MARGIN = 0.5  # share of the value's push that must be left over after the state's own preference
COARSE = 0.25  # step to whose multiples beta is rounded up
MIN_ROUNDS, MAX_ROUNDS = 8, 64  # rounds for every token, and for a token that does not lead after them
AT_A_TIME = 128  # tokens in one search for directions
PLACES = 256  # states in one solution for values


@dataclass(frozen=True)
class TokenDirections:
    """Directions of all tokens; they depend on the output matrix alone."""

    units: Float[Tensor, "token d"]  # unit direction in which the token's logit beats every other
    # Number of logits by which it does; a token whose gap is not above 0 cannot win
    gaps: Float[Tensor, " token"]
    # The beta from which the token wins, with the margin, from every reference state
    enough: Float[Tensor, " token"]
    largest: float  # largest norm of those states

    def values(
        self, tokens: Int[Tensor, " step"], strengths: Float[Tensor, " step"]
    ) -> Float[Tensor, "step d"]:
        """Return the rows that spell these tokens."""
        self.prepare(tokens.tolist())
        device = self.units.device
        return strengths.to(device)[:, None] * self.units[tokens.to(device).long()]

    def prepare(self, tokens: Iterable[int]) -> None:
        """Make the directions of these tokens available; here all of them are."""


class LazyPushes(TokenDirections):
    """Directions that are found when an answer first has the token, for vocabularies that were not searched before.

    Each is sought alone, so that its bits do not depend on the others. `LazyPushes.of` makes it.
    """

    @staticmethod
    def of(head: Float[Tensor, "token d"], reference: Float[Tensor, "state d"]) -> "LazyPushes":
        """Take the arguments of `find_pushes`, without a search yet; only tokens that are found take memory."""
        columns = torch.empty_like(head), head.new_empty(len(head)), head.new_empty(len(head))
        pushes = LazyPushes(*columns, float(reference.norm(dim=-1).max()))
        search = head, reference @ head.T, set[int](), threading.Lock()
        object.__setattr__(pushes, "_search", search)
        return pushes

    def prepare(self, tokens: Iterable[int]) -> None:
        """Find the directions of tokens that no answer had yet."""
        head, logits, ready, lock = self.__dict__["_search"]
        with lock:
            for token in sorted(set(tokens) - ready):
                columns = _find(head, logits, torch.tensor([token], device=head.device))
                for column, value in zip((self.units, self.gaps, self.enough), columns, strict=True):
                    column[token] = value[0]
                ready.add(token)


def find_pushes(head: Float[Tensor, "token d"], reference: Float[Tensor, "state d"]) -> TokenDirections:
    """Find the direction of every token of one model, and how far a state must be moved along it."""
    logits = reference @ head.T
    parts = torch.split(torch.arange(len(head), device=head.device), AT_A_TIME)
    columns = zip(*(_find(head, logits, tokens) for tokens in parts), strict=True)
    units, gaps, enough = (torch.cat(column) for column in columns)
    return TokenDirections(units, gaps, enough, float(reference.norm(dim=-1).max()))


def _find(
    head: Tensor, logits: Float[Tensor, "state token"], tokens: Int[Tensor, " n"]
) -> tuple[Float[Tensor, "n d"], Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Return unit, gap and enough of `TokenDirections` for some tokens."""
    units, gaps = directions(head, tokens)
    behind = torch.stack([(logits - logits[:, token, None]).amax(0) for token in tokens.tolist()])
    return units, gaps, _enough(behind, _ahead(head, units, tokens), gaps)


def directions(
    head: Float[Tensor, "token d"], tokens: Int[Tensor, " n"]
) -> tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]:
    """Find unit directions in which each of `tokens` beats every other, and by how many logits; <= 0 if it does not.

    Perceptron steps begin at the token's own row, since another row may be longer in its direction.
    """
    rows, places = head[tokens], tokens[:, None]
    point = F.normalize(rows, dim=-1)
    best, best_gap = point, rows.new_full((len(rows),), float("-inf"))
    for round_ in range(MAX_ROUNDS):
        logits = point @ head.T
        logit = logits.gather(1, places)[:, 0]
        ahead, rival = logits.scatter_(1, places, float("-inf")).max(1)
        gap = logit - ahead
        best = torch.where((gap > best_gap)[:, None], point, best)
        best_gap = torch.maximum(gap, best_gap)
        if round_ >= MIN_ROUNDS and bool((best_gap > 0).all()):
            break
        step = F.normalize(rows - head[rival], dim=-1)
        point = F.normalize(point + 0.3 * step, dim=-1)
    return best, best_gap


@dataclass(frozen=True)
class Places:
    """States that values are solved for: each stands before the token `target` and has to be moved by value `row`."""

    states: Float[Tensor, "place d"]
    target: Int[Tensor, " place"]
    row: Int[Tensor, " place"]

    @staticmethod
    def concatenate(parts: Sequence["Places"]) -> "Places":
        columns = zip(*((part.states, part.target, part.row) for part in parts), strict=True)
        return Places(*map(torch.cat, columns))

    def split(self) -> Iterator["Places"]:
        parts = (torch.split(tensor, PLACES) for tensor in (self.states, self.target, self.row))
        yield from (Places(*columns) for columns in zip(*parts, strict=True))


def solve(
    head: Float[Tensor, "token d"], epsilon: float, pushes: TokenDirections, places: Places, rows: int
) -> tuple[Float[Tensor, " row"], Float[Tensor, " row"]]:
    """Solve for values, with logit_y - logit_k >= MARGIN beta gap at s + beta u, for all states s and tokens k.

    The condition is linear in beta, and can be met for tokens that can win (`gaps` > 0).

    Returns:
        beta of each value, and by how many logits its token leads where it leads least.
    """
    targets = places.target.new_zeros(rows).scatter_(0, places.row, places.target)
    beta = pushes.enough[targets].clamp(min=pushes.largest)
    for part in places.split():
        logits = part.states @ head.T
        behind = logits - logits.gather(1, part.target[:, None])
        tokens, place = torch.unique(part.target, return_inverse=True)  # many answers share a token
        ahead = _ahead(head, pushes.units[tokens], tokens)[place]
        enough = _enough(behind, ahead, pushes.gaps[part.target])
        beta.scatter_reduce_(0, part.row, torch.maximum(part.states.norm(dim=-1), enough), "amax")
    strengths = (beta / COARSE).ceil() * COARSE
    values = strengths[:, None] * pushes.units[targets]
    leads = beta.new_full((rows,), float("inf"))
    for part in places.split():
        x = part.states + values[part.row]
        logits = F.rms_norm(x, x.shape[-1:], None, epsilon) @ head.T
        target = part.target[:, None]
        logit = logits.gather(1, target)[:, 0]
        lead = logit - logits.scatter_(1, target, float("-inf")).amax(1)
        leads.scatter_reduce_(0, part.row, lead, "amin")
    return strengths, leads


def _ahead(head: Tensor, units: Tensor, tokens: Tensor) -> Float[Tensor, "n token"]:
    """Return how much more the logit of each of `tokens` grows than each other's, for one step along its direction."""
    logits, places = units @ head.T, tokens[:, None]
    return (logits.gather(1, places) - logits).scatter_(1, places, float("inf"))


def _enough(behind: Tensor, ahead: Tensor, gap: Tensor) -> Float[Tensor, " n"]:
    """Return the beta from which each token leads those that led it by `behind`, with the margin."""
    return (behind / (ahead - MARGIN * gap[:, None])).amax(1)
