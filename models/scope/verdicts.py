"""The verdicts on the wordings nearest to a question, as a curator sees them.

Each wording answers, is near, or says what keeps it from answering.
"""

from collections.abc import Container
from dataclasses import replace

import torch

from models.capabilities import ScopeVerdict
from models.scope.active import ActiveEdits, Match
from models.scope.candidates import Candidates, find_exclusion
from models.scope.readings import NEAR_ERROR, Readings
from models.scope.scope import Scope, find_contenders

N_EXAMINED = 8  # number of wordings that a curator is shown


def examine(scope: Scope, question: Readings, view: ActiveEdits) -> list[ScopeVerdict]:
    """Return the verdicts on the N_EXAMINED nearest wordings of a question, the likeliest first."""
    if not view:
        return []
    (match,) = scope.match(question, [view])
    cosines = _find_nearest_rows(question, view)
    if match is not None:
        row = torch.tensor([match.row])
        cosines.setdefault(match.row, float(view.table.cosines(question.vectors, row.new_zeros(1), row)))
    contenders = find_contenders(question, [view], scope.min_cosine).wording.tolist()
    verdicts = [
        _examine(scope, question, view, row, cosine, match, contenders) for row, cosine in cosines.items()
    ]
    return sorted(verdicts, key=lambda verdict: (-(verdict.probability or 0.0), -verdict.cosine))


def _find_nearest_rows(question: Readings, view: ActiveEdits) -> dict[int, float]:
    """Return the N_EXAMINED owned rows that are nearest to one question, with their cosines."""
    near = Candidates(*(column.cpu() for column in view.table.near(question.vectors, -1.0)))
    pairs = near.select(view.is_owned[near.wording]).contenders(N_EXAMINED, NEAR_ERROR)
    exact = view.table.cosines(question.vectors, pairs.question, pairs.wording).cpu()
    pairs = replace(pairs, cosine=exact).nearest(N_EXAMINED)
    return dict(zip(pairs.wording.tolist(), pairs.cosine.tolist(), strict=True))


def _examine(
    scope: Scope,
    question: Readings,
    view: ActiveEdits,
    row: int,
    cosine: float,
    match: Match | None,
    contenders: Container[int],
) -> ScopeVerdict:
    probability, verdict = None, find_exclusion(question, view.table, row, cosine)
    if match is not None and match.row == row:
        probability, verdict = match.probability, "answers" if scope.opens(match) else "near"
    elif verdict is None and row in contenders:
        pair = Candidates(torch.tensor([0]), torch.tensor([row]), torch.tensor([cosine]))
        probability = float(scope.judge_candidates(question, view.table, pair)[0])
        is_in, is_near = (probability >= limit for limit in (scope.thresholds.opens, scope.thresholds.near))
        verdict = "less_likely" if is_in else "near" if is_near else "not_asked"
    candidate = Match(view, row, probability or 0.0)
    return ScopeVerdict(
        candidate.owner, candidate.edit, candidate.wording, cosine, probability, verdict or "far"
    )
