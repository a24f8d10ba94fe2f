"""The calibration: log-odds of a candidate pair from the output of the layers, the cosine and the signs.

Logistic regression on relations, names and facts that no weight was trained on, first of pairs, then of the
likeliest edit of each question beside the likeliest other one; each trial weighs the same. Its `expected_error` is
measured on others.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from models.scope.judge import LOG_ODDS_OF_RIVAL, MIDDLE, Calibration
from models.system import Thresholds
from models.training.scope.outcomes import JudgedPairs, Outcomes

STEPS = 200
BINS = 10
LOWEST = -30.0  # log-odds of no edit
OPENS = Thresholds().opens


def fit(trials: Sequence[JudgedPairs]) -> Calibration:
    """Fit the coefficients that maximise the likelihood of the pairs of all trials."""
    numbers = torch.tensor([1.0, 10.0, -8.0, 0.0, 0.0, 0.0], requires_grad=True)
    optimizer = torch.optim.LBFGS([numbers], max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        losses = [
            F.binary_cross_entropy_with_logits(_log_odds(numbers, trial), trial.is_right.float())
            for trial in trials
        ]
        total = torch.stack(losses).mean()
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    slope, cosine, bias, product, names, frame = numbers.detach().tolist()
    return Calibration(slope, cosine, bias, product, names=min(0.0, names), frame=min(0.0, frame))


def _log_odds(numbers: Tensor, trial: JudgedPairs) -> Tensor:
    columns = trial.raw, trial.cosine, torch.ones_like(trial.raw), trial.raw * (trial.cosine - MIDDLE)
    return torch.cat([torch.stack(columns, -1), trial.signs], -1) @ numbers


def fit_rival(trials: Sequence[JudgedPairs], pairs: Calibration) -> Calibration:
    """Fit how the likeliest edit of a question suffers from the likeliest other one, on the answers of all trials.

    Args:
        trials: Trials in which each edit has one wording.
        pairs: Calibration of single pairs, whose log-odds are stretched and moved with it.
    """
    best = [_two_likeliest(trial, pairs) for trial in trials]
    numbers = torch.tensor([1.0, 0.0, 0.0], requires_grad=True)
    optimizer = torch.optim.LBFGS([numbers], max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        stretch, shift, rival = numbers
        total = torch.stack(
            [
                F.binary_cross_entropy_with_logits(
                    first * stretch
                    + shift
                    - rival * (second * stretch + shift - LOG_ODDS_OF_RIVAL).clamp(min=0),
                    is_right,
                )
                for first, second, is_right in best
            ]
        ).mean()
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    stretch, shift, rival = numbers.detach().tolist()
    parts = {
        name: getattr(pairs, name) * stretch
        for name in ("slope", "cosine", "bias", "product", "names", "frame")
    }
    return replace(pairs, **parts | {"bias": parts["bias"] + shift}, rival=max(0.0, rival))


def _two_likeliest(trial: JudgedPairs, pairs: Calibration) -> tuple[Tensor, Tensor, Tensor]:
    """Return, for each question with candidates, the two highest log-odds, and whether the highest is right."""
    log_odds = pairs.log_odds(trial.raw, trial.cosine, trial.signs)
    order = log_odds.argsort(descending=True)
    rows: dict[int, list[int]] = defaultdict(list)
    for pair in order.tolist():
        rows[int(trial.question[pair])].append(pair)
    first = [places[0] for places in rows.values()]
    second = [float(log_odds[places[1]]) if len(places) > 1 else LOWEST for places in rows.values()]
    return log_odds[first], torch.tensor(second), trial.is_right[first].float()


def fit_slip(with_repair: Sequence[Outcomes], without: Sequence[Outcomes]) -> float:
    """Fit the share of right answers among those that an edit gives because a word counts as misspelt.

    Args:
        with_repair: Outcomes of the trials with a `slip` of one.
        without: Outcomes of the same trials with a `slip` of zero.
    """
    is_right = [
        outcomes.is_right[(outcomes.probability >= OPENS) & (outcomes.probability > other.probability)]
        for outcomes, other in zip(with_repair, without, strict=True)
    ]
    outcomes_of_repair = torch.cat(is_right)
    n_right, n_all = int(outcomes_of_repair.sum()), len(outcomes_of_repair)
    return (n_right + 1) / (n_all + 2)  # smoothed by one right and one wrong outcome


def expected_error(outcomes: Outcomes, threshold: float) -> float:
    """Compute the expected calibration error of the answers of edits, in points: ten bins of equal size."""
    probability = outcomes.probability
    answers = (probability >= threshold).nonzero().squeeze(1)
    order = answers[probability[answers].argsort()]
    bins = [part for part in torch.tensor_split(order, BINS) if len(part)]
    gaps = [
        len(part) * abs(float(probability[part].mean() - outcomes.is_right[part].float().mean()))
        for part in bins
    ]
    return 100 * sum(gaps) / max(1, len(answers))
