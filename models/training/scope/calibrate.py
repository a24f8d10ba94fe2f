"""The calibration: log-odds of a candidate pair from the output of the layers, the cosine and the signs.

Fitted by likelihood on relations, names and facts that no weight was trained on, first of pairs, then of the
likeliest edit of each question beside the likeliest other one; each trial weighs the same.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from jaxtyping import Float
from more_itertools import map_reduce
from torch import Tensor

from models.confidence import minimise
from models.scope.judge import LOG_ODDS_OF_RIVAL, MIDDLE, Calibration
from models.scope.wordings.contrast import SIGNS
from models.training.scope.outcomes import OPENS, JudgedPairs, Outcomes

STEPS = 200
N_BASE = 4  # coefficients that are not of signs
DECAY = 1e-4  # price of the squares of those that are
LOWEST = -30.0  # log-odds of no edit


def fit(trials: Sequence[JudgedPairs]) -> Calibration:
    """Fit the numbers that maximise the likelihood of the pairs of all trials, each trial weighing the same."""
    numbers = torch.tensor([0.7, 17.0, 1.2, -12.0, *(0.0 for _ in SIGNS)], requires_grad=True)

    def loss() -> Tensor:
        losses = [
            F.binary_cross_entropy_with_logits(_columns(trial) @ numbers, trial.is_right.float())
            for trial in trials
        ]
        return torch.stack(losses).mean() + DECAY * numbers[N_BASE:].square().mean()

    minimise([numbers], loss, STEPS)
    slope, cosine, product, bias, *signs = numbers.detach().tolist()
    return Calibration(slope, cosine, bias, product, signs=tuple(signs))


def _columns(trial: JudgedPairs) -> Float[Tensor, "pair number"]:
    """Return what `Calibration` multiplies by slope, cosine, product and bias, and the signs."""
    x, cosine = trial.raw, trial.cosine
    base = torch.stack((x, cosine, x * (cosine - MIDDLE), torch.ones_like(x)), -1)
    return torch.cat([base, trial.signs], -1)


def fit_rival(trials: Sequence[JudgedPairs], pairs: Calibration) -> Calibration:
    """Fit how the likeliest edit of a question suffers from the likeliest other one, on the answers of all trials.

    Args:
        trials: Trials in which each edit has one wording.
        pairs: Calibration of single pairs, whose log-odds are stretched and moved with it.
    """
    best = [_two_likeliest(trial, pairs) for trial in trials]
    numbers = torch.tensor([1.0, 0.0, 0.0], requires_grad=True)

    def loss() -> Tensor:
        stretch, shift, rival = numbers
        losses = []
        for first, second, is_right in best:
            log_odds = first * stretch + shift
            log_odds = log_odds - rival * (second * stretch + shift - LOG_ODDS_OF_RIVAL).clamp(min=0)
            losses.append(F.binary_cross_entropy_with_logits(log_odds, is_right))
        return torch.stack(losses).mean()

    minimise([numbers], loss, STEPS)
    stretch, shift, rival = numbers.detach().tolist()
    parts = {name: getattr(pairs, name) * stretch for name in ("slope", "cosine", "bias", "product")}
    signs = tuple(weight * stretch for weight in pairs.signs)
    return replace(pairs, **parts | {"bias": parts["bias"] + shift}, signs=signs, rival=max(0.0, rival))


def _two_likeliest(trial: JudgedPairs, pairs: Calibration) -> tuple[Tensor, Tensor, Tensor]:
    """Return, for each question with candidates, the two highest log-odds, and whether the highest is right."""
    log_odds = pairs.log_odds(trial.raw, trial.cosine, trial.signs)
    order = log_odds.argsort(descending=True)
    rows = map_reduce(order.tolist(), lambda pair: int(trial.question[pair]))
    first = [places[0] for places in rows.values()]
    second = [float(log_odds[places[1]]) if len(places) > 1 else LOWEST for places in rows.values()]
    return log_odds[first], torch.tensor(second), trial.is_right[first].float()


def fit_slip(with_repair: Sequence[Outcomes], without: Sequence[Outcomes]) -> float:
    """Fit the share of right answers among those that an edit gives because a word counts as misspelt.

    The outcomes are of the same trials, with a `slip` of one and of zero.
    """
    outcomes_of_repair = torch.cat(
        [
            outcomes.is_right[(outcomes.probability >= OPENS) & (outcomes.probability > other.probability)]
            for outcomes, other in zip(with_repair, without, strict=True)
        ]
    )
    n_right, n_all = int(outcomes_of_repair.sum()), len(outcomes_of_repair)
    return (n_right + 1) / (n_all + 2)  # smoothed by one right and one wrong outcome
