"""The calibration: log-odds of a candidate pair from the output of the layers and from the cosine.

Logistic regression on relations, names and facts that no weight was trained on; each trial weighs the same. Its
`expected_error` is measured on others.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from models.scope.judge import MIDDLE, Calibration
from models.system import Thresholds
from models.training.scope.outcomes import JudgedPairs, Outcomes

STEPS = 200
BINS = 10
OPENS = Thresholds().opens


def fit(trials: Sequence[JudgedPairs]) -> Calibration:
    """Fit the four coefficients that maximise the likelihood of the pairs of all trials."""
    numbers = torch.tensor([1.0, 10.0, -8.0, 0.0], requires_grad=True)
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
    slope, cosine, bias, product = numbers.detach().tolist()
    return Calibration(slope, cosine, bias, product)


def _log_odds(numbers: Tensor, trial: JudgedPairs) -> Tensor:
    columns = trial.raw, trial.cosine, torch.ones_like(trial.raw), trial.raw * (trial.cosine - MIDDLE)
    return torch.stack(columns, -1) @ numbers


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
