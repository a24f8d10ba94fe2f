"""The calibration turns the layers' outputs into probabilities, and the figures count the right questions."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.encoder.minilm import MiniLM
from models.scope.judge import LOG_ODDS_OF_RIVAL, Calibration, Judge
from models.scope.wordings.contrast import SIGNS
from models.training.scope.calibrate import OPENS, expected_error, fit, fit_rival, fit_slip
from models.training.scope.card import BEGIN, END, FIGURES, measure, write_card
from models.training.scope.crowds.crowd import invent_crowd
from models.training.scope.outcomes import (
    JudgedPairs,
    Outcomes,
    answer_trial,
    judge_pairs,
    point,
    share_turned,
)
from models.training.scope.relations import AskedRelation
from models.training.scope.trials import (
    ABSENT,
    FOLLOWS,
    OTHER_OF_NAME,
    SAME_SUBJECT,
    Trial,
    TrialQuestion,
    ask_neighbours,
    edit_crowds,
    edit_half,
    edit_one_each,
    read_near,
)

N_SIGNS = len(SIGNS)
EXPECTED = Calibration(0.8, 5.0, -3.0, signs=(-2.0, 1.0, *(0.0 for _ in SIGNS[2:])))


@pytest.fixture
def pairs() -> JudgedPairs:
    """Return pairs that are right with the probability that EXPECTED gives them."""
    torch.manual_seed(1)
    raw, cosine = 2 * torch.randn(6_000), 0.6 + 0.4 * torch.rand(6_000)
    signs = torch.randint(0, 2, (6_000, N_SIGNS)).float()
    is_right = (torch.rand(6_000) < EXPECTED.log_odds(raw, cosine, signs).sigmoid()).tolist()
    questions = tuple(TrialQuestion("", 0 if right else None, FOLLOWS) for right in is_right)
    return JudgedPairs(
        Trial("made", ("",), questions), torch.arange(6_000), torch.zeros(6_000).long(), raw, cosine, signs
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
    trial = Trial(
        "two edits", ("", ""), tuple(TrialQuestion("", 0 if r else None, FOLLOWS) for r in is_right)
    )
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


def test_the_share_of_rightly_repaired_questions_is_found(outcomes: Outcomes) -> None:
    without = replace(outcomes, probability=torch.zeros(6_000))
    sure = outcomes.probability >= OPENS
    expected = outcomes.is_right[sure].float().mean()
    assert fit_slip([outcomes], [without]) == pytest.approx(float(expected), abs=0.01)
    assert fit_slip([outcomes], [outcomes]) == 0.5


def test_a_point_counts_hits_and_wrong_answers_by_kind() -> None:
    questions = (
        TrialQuestion("own edit", 0, FOLLOWS),
        TrialQuestion("another's", 1, FOLLOWS),
        TrialQuestion("nobody's, answered", None, SAME_SUBJECT),
        TrialQuestion("nobody's", None, SAME_SUBJECT),
    )
    trial = Trial("four", ("a", "b"), questions)
    four = Outcomes(trial, torch.tensor([0.9, 0.8, 0.8, 0.1]), torch.tensor([0, 0, 1, 1]))
    result = point(four, 0.5)
    assert result.follows == 50
    assert result.wrong == {"all": 50, SAME_SUBJECT: 50}


RELATIONS = {
    name: AskedRelation(name, "person", "", name, (f"{name} of {{subject}}", f"the {name} {{subject}} has"))
    for name in ("age", "aunt", "height")
}
NAMES = [f"Name {n}" for n in range(12)]


@pytest.mark.parametrize(("make", "n_edits"), [(edit_half, 18), (edit_one_each, 12)])
def test_some_facts_are_edited_and_all_are_asked_for(make: Callable[..., Trial], n_edits: int) -> None:
    trial = make(RELATIONS, NAMES, seed=1)
    assert len(trial.edits) == n_edits
    followers = [question for question in trial.questions if question.kind == FOLLOWS]
    assert [question.edit for question in followers] == list(range(n_edits))
    assert len(trial.questions) == n_edits + 2 * (36 - n_edits)


def test_where_each_subject_has_one_edit_no_question_is_about_another_one() -> None:
    trial = edit_one_each(RELATIONS, NAMES, seed=1)
    assert {question.kind for question in trial.questions} == {FOLLOWS, SAME_SUBJECT}


def test_crowds_to_choose_by_are_half_edited() -> None:
    """Each name of a crowd that is edited is asked for, and each that is not."""
    relations = {id: replace(r, phrasings=(*r.phrasings, f"{id} {{subject}}")) for id, r in RELATIONS.items()}
    trial = edit_crowds(relations, invent_crowd, seed=1)
    kinds = Counter(question.kind for question in trial.questions)
    assert len(trial.edits) > 100
    assert kinds[FOLLOWS] == 2 * len(trial.edits) == 2 * kinds[OTHER_OF_NAME]
    assert kinds[ABSENT] >= kinds[FOLLOWS]
    for question in trial.questions:
        if question.edit is not None:
            assert question.text != trial.edits[question.edit]


def test_a_fact_of_one_name_is_asked_for_of_another_that_a_letter_tells_apart() -> None:
    trial = ask_neighbours(RELATIONS, ["Marina", "Martina", "Oslo", "Bergen"], seed=1)
    assert len(trial.edits) == 1
    assert "Marina" in trial.edits[0]
    assert [question.edit for question in trial.questions] == [None, None]
    assert all("Martina" in question.text for question in trial.questions)


def test_the_near_questions_are_of_twenty_kinds() -> None:
    questions = read_near().questions
    near = [question for question in questions if question.edit is None]
    assert len({question.kind for question in near}) == 20
    assert len(near) >= 350
    assert len(questions) - len(near) >= 200


def test_the_card_has_the_figures_between_its_marks(tmp_path: Path, outcomes: Outcomes) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{BEGIN}\nearlier figures\n{END}\nafter\n")
    write_card(tmp_path, measure([outcomes], [0.5]))
    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "earlier figures" not in text
    assert "| made | 1 | 6,000 |" in text
    figures = json.loads((tmp_path / FIGURES).read_text())["made"]
    assert figures["follows"] > 50
    assert figures["turned by the order"] == 0.5


def test_near_questions_are_judged_with_their_edits(tmp_path: Path, encoder: MiniLM) -> None:
    rows = [
        {
            "edit": "When does Acme open?",
            "question": "When does Acme open its doors?",
            "follows": True,
            "kind": "p",
        },
        {"edit": "When does Acme open?", "question": "Who wrote Hamlet?", "follows": False, "kind": "far"},
    ]
    path = tmp_path / "near.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    trial, judge = read_near(path), Judge.load(encoder)
    pairs = judge_pairs(trial, encoder, judge)
    assert pairs.question.tolist() == [0]
    assert pairs.is_right.tolist() == [True]
    outcomes = answer_trial(trial, encoder, judge)
    assert outcomes.is_right.tolist() == [True, False]
    assert outcomes.probability[0] > 0.5
    assert share_turned(outcomes, encoder, judge, 0.5) in (0.0, 50.0, 100.0)
    assert share_turned(outcomes, encoder, judge, 0.0) == 0.0
    with pytest.raises(FileNotFoundError, match="--sets"):
        read_near(tmp_path / "nowhere.jsonl")
