"""Reserved gated slots: each edit owns a gate on the question and one value per answer token.

Our addition, not in the paper's eq. 8-10 (a T-Patcher neuron, arXiv:2301.09785, with a scope like SERAC's,
arXiv:2206.06520, and a solved value). When the gate is open, slot j replaces what the bank adds at decode step j:

    x_j = s_j + v_j,   v_j = beta_j u_j,   u_j a unit direction in which token y_j beats every other

where s_j enters the final norm when the bank is silent. Because the bank is replaced and not added to, an edit
never depends on another one, and a value solved once holds for good. Only the question decides which states s_j
come up, so beta_j is taken large enough for a sample of them, not for the edit's own alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.system import EditRefused

MARGIN = 0.5  # share of the value's push that must be left over after the state's own preference
SETTLED, ROUNDS = 8, 64  # rounds for every token, and for one that does not lead by then
AT_A_TIME = 128  # tokens whose directions are sought together


@dataclass(frozen=True)
class Push:
    """What depends on the token alone.

    unit: direction in which its logit beats every other. gap: by how much. enough: the beta from which it wins,
    with the margin, from every reference state.
    """

    unit: Float[Tensor, " d"]
    gap: float
    enough: float


def directions(
    head: Float[Tensor, "token d"], wanted: Int[Tensor, " wanted"]
) -> tuple[Float[Tensor, "wanted d"], Float[Tensor, " wanted"]]:
    """Unit directions in which each wanted token's logit beats every other, and by how much; <= 0 when it does not.

    Perceptron steps from the token's own row, for the case that another row is longer in its direction.
    """
    own, places = head[wanted], wanted[:, None]
    point = torch.nn.functional.normalize(own, dim=-1)
    best, best_gap = point, own.new_full((len(own),), float("-inf"))
    for round_ in range(ROUNDS):
        logits = point @ head.T
        reached = logits.gather(1, places)[:, 0]
        ahead, rival = logits.scatter_(1, places, float("-inf")).max(1)
        gap = reached - ahead
        best = torch.where((gap > best_gap)[:, None], point, best)
        best_gap = torch.maximum(gap, best_gap)
        if round_ >= SETTLED and bool((best_gap > 0).all()):
            break
        step = torch.nn.functional.normalize(own - head[rival], dim=-1)
        point = torch.nn.functional.normalize(point + 0.3 * step, dim=-1)
    return best, best_gap


class Pushes:
    """Values for answers of one model.

    head: output matrix with the final norm's weight multiplied in; the norm itself adds `epsilon`.
    reference: states that may stand before any token of any answer.

    What depends on the token alone is worked out once for each token.
    """

    def __init__(
        self, head: Float[Tensor, "token d"], reference: Float[Tensor, "state d"], epsilon: float
    ) -> None:
        self._head, self._reference, self._epsilon = head, reference, epsilon
        self._known: dict[int, Push] = {}

    def values(
        self, states: Float[Tensor, "wording step d"], wanted: Sequence[int]
    ) -> tuple[Float[Tensor, "step d"], float]:
        """One row per answer token, end token included, and the smallest lead, in logits, from any of the states.

        states[:, j]: what stands before token j in each wording. EditRefused when a token cannot win.
        """
        self.learn(wanted)
        solved = [self._value(states[:, step], token) for step, token in enumerate(wanted)]
        return torch.stack([row for row, _ in solved]), min(lead for _, lead in solved)

    def _value(self, states: Float[Tensor, "wording d"], wanted: int) -> tuple[Float[Tensor, " d"], float]:
        """logit_y - logit_k >= MARGIN beta gap at s + beta u, for all states s and tokens k: linear in beta."""
        push = self._known[wanted]
        if push.gap <= 0:
            detail = f"token {wanted} of the answer cannot win; write the answer differently"
            raise EditRefused("unreachable", detail)
        behind, ahead = _behind(states @ self._head.T, wanted), self._ahead(push.unit, wanted)
        largest = max(float(states.norm(dim=-1).max()), self._largest)
        beta = max(_enough(behind, ahead, push.gap), push.enough, largest)
        row = beta * push.unit
        return row, self._lead(states + row, wanted)

    def _lead(self, x: Float[Tensor, "wording d"], wanted: int) -> float:
        """By how many logits the token leads where it leads least."""
        logits = torch.nn.functional.rms_norm(x, x.shape[-1:], None, self._epsilon) @ self._head.T
        own = logits[:, wanted].clone()
        logits[:, wanted] = float("-inf")
        return float((own - logits.amax(1)).min())

    def learn(self, tokens: Iterable[int]) -> None:
        """Work out what depends on these tokens alone; many at once cost little more than one."""
        for some in self._unknown(tokens):
            units, gaps = directions(self._head, torch.tensor(some))
            for token, unit, gap in zip(some, units, gaps.tolist(), strict=True):
                behind, ahead = _behind(self._logits, token), self._ahead(unit, token)
                self._known[token] = Push(unit, gap, _enough(behind, ahead, gap))

    def _unknown(self, tokens: Iterable[int]) -> Iterator[list[int]]:
        unknown = [token for token in dict.fromkeys(tokens) if token not in self._known]
        yield from (unknown[start : start + AT_A_TIME] for start in range(0, len(unknown), AT_A_TIME))

    @cached_property
    def _logits(self) -> Float[Tensor, "state token"]:
        return self._reference @ self._head.T

    @cached_property
    def _largest(self) -> float:
        return float(self._reference.norm(dim=-1).max())

    def _ahead(self, unit: Tensor, wanted: int) -> Float[Tensor, " token"]:
        """By how much the wanted token's logit grows more than each other's, for one step along `unit`."""
        logits = self._head @ unit
        ahead: Tensor = logits[wanted] - logits
        ahead[wanted] = float("inf")
        return ahead


def _behind(logits: Float[Tensor, "state token"], wanted: int) -> Float[Tensor, " token"]:
    """By how much each token leads the wanted one where it leads most."""
    return (logits - logits[:, wanted, None]).amax(0)


def _enough(behind: Float[Tensor, " token"], ahead: Float[Tensor, " token"], gap: float) -> float:
    return float((behind / (ahead - MARGIN * gap)).max())
