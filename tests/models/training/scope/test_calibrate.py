"""The calibration turns the layers' outputs into probabilities, and the figures count the right questions."""

from dataclasses import replace

import pytest
import torch

from models.scope.judge import LOG_ODDS_OF_RIVAL, Calibration
from models.scope.wordings.contrast import SIGNS
from models.training.scope.calibrate import fit, fit_rival
from models.training.scope.outcomes import JudgedPairs, Outcomes, count, describe, expected_error
from models.training.scope.trials import FOLLOWS, SAME_SUBJECT, Trial, TrialQuestion

N_SIGNS = len(SIGNS)
EXPECTED = Calibration(0.8, 5.0, -3.0, signs=(-2.0, 1.0, *(0.0 for _ in SIGNS[2:])))


@pytest.fixture
def pairs() -> JudgedPairs:
    """Return pairs that are right with the probability that EXPECTED gives them."""
    torch.manual_seed(1)
    raw, cosine = 2 * torch.randn(6_000), 0.6 + 0.4 * torch.rand(6_000)
    signs = torch.randint(0, 2, (6_000, N_SIGNS)).float()
    is_right = (torch.rand(6_000) < EXPECTED.log_odds(raw, cosine, signs).sigmoid()).tolist()
    questions = [TrialQuestion("", 0 if right else None, FOLLOWS) for right in is_right]
    return JudgedPairs(
        Trial("made", [""], questions), torch.arange(6_000), torch.zeros(6_000).long(), raw, cosine, signs
    )


@pytest.fixture
def outcomes(pairs: JudgedPairs) -> Outcomes:
    return Outcomes(pairs.trial, probabilities(pairs, EXPECTED), torch.zeros(6_000).long())


def probabilities(pairs: JudgedPairs, fit: Calibration) -> torch.Tensor:
    return fit.log_odds(pairs.raw, pairs.cosine, pairs.signs).sigmoid()


def test_the_numbers_that_made_the_pairs_are_found(pairs: JudgedPairs) -> None:
    result = fit([pairs])
    assert result.slope == pytest.approx(EXPECTED.slope, abs=0.1)
    assert result.cosine == pytest.approx(EXPECTED.cosine, abs=0.7)
    assert result.signs == pytest.approx(EXPECTED.signs, abs=0.3)


def test_what_a_rival_takes_from_the_likeliest_edit_is_found() -> None:
    torch.manual_seed(2)
    likeliest = 3 * torch.rand(6_000)
    rival = likeliest - 4 * torch.rand(6_000)
    log_odds = 1.5 * likeliest - 0.6 * (1.5 * rival - LOG_ODDS_OF_RIVAL).clamp(min=0)
    is_right = (torch.rand(6_000) < log_odds.sigmoid()).tolist()
    trial = Trial("two edits", ["", ""], [TrialQuestion("", 0 if r else None, FOLLOWS) for r in is_right])
    places, edits = torch.arange(6_000).repeat(2), torch.tensor([0, 1]).repeat_interleave(6_000)
    raw = torch.cat([likeliest, rival])
    result = fit_rival(
        [JudgedPairs(trial, places, edits, raw, torch.zeros(12_000), torch.zeros(12_000, N_SIGNS))],
        Calibration(1, 0, 0),
    )
    assert result.slope == pytest.approx(1.5, abs=0.15)
    assert result.rival == pytest.approx(0.6, abs=0.1)


def test_the_error_tells_a_right_calibration_from_a_wrong_one(pairs: JudgedPairs, outcomes: Outcomes) -> None:
    assert expected_error(outcomes, 0.5) < 3
    too_sure = probabilities(pairs, replace(EXPECTED, slope=2.5))
    assert expected_error(replace(outcomes, probability=too_sure), 0.5) > 5


def test_a_point_counts_hits_and_wrong_answers_by_kind() -> None:
    questions = [
        TrialQuestion("own edit", 0, FOLLOWS),
        TrialQuestion("another's", 1, FOLLOWS),
        TrialQuestion("nobody's, answered", None, SAME_SUBJECT),
        TrialQuestion("nobody's", None, SAME_SUBJECT),
    ]
    trial = Trial("four", ["a", "b"], questions)
    four = Outcomes(trial, torch.tensor([0.9, 0.8, 0.8, 0.1]), torch.tensor([0, 0, 1, 1]))
    assert count(four, 0.5) == (50, {"all": 50, SAME_SUBJECT: 50})


def test_the_figures_stand_in_tables_and_by_name(outcomes: Outcomes) -> None:
    figures, tables = describe([(outcomes, 0.5)])
    assert "| made | 1 | 6,000 |" in tables
    assert figures["made"]["follows"] > 50
    assert figures["made"]["turned by the order"] == 0.5
    assert f"| 0.5 | {figures['made']['follows']} / " in tables
