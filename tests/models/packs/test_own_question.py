"""A question asks for a fact of the pack, or only looks like it: the shipped judge beside the fact's own questions."""

import json
from pathlib import Path

import pytest

from models.encoder.minilm import MiniLM
from models.kit.checkpoint import CheckpointError, write_sums
from models.packs.own_question import FOLDER, SCALE, OwnFact, OwnQuestions
from models.scope.judge import Judge
from models.system import Reply


@pytest.fixture(scope="module")
def questions() -> OwnQuestions:
    return OwnQuestions.load(Judge.load(MiniLM()))


def reply(answer: str, *edits: str) -> Reply:
    return Reply(answer, 0.99, answer, edits=edits)


@pytest.mark.parametrize(
    ("question", "answer", "word"),
    [
        ("What is not the capital of Peru?", "Lima", "not"),
        ("Who is the mayor of the capital of Peru?", "Lima", "mayor"),
        ("How far is the capital of Peru?", "Lima", "far"),
        ("Is the capital of Morocco bigger than Casablanca?", "Rabat", None),
    ],
)
def test_what_only_looks_like_a_fact_is_declined_with_a_word(
    questions: OwnQuestions, question: str, answer: str, word: str | None
) -> None:
    [result] = questions.check([question], [reply(answer)])
    assert (result.answer, result.best) == (None, answer)
    assert result.reason == "unsure"
    assert result.score < questions.scale.threshold
    assert word is None or f"“{word}”" in result.reason.sentence


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the capital of Peru?", "Lima"),
        ("what city is perus capital", "Lima"),
        ("which city do they govern Peru from, capital i mean", "Lima"),
        ("Peru, its capital please", "Lima"),
        ("What is the best of all?", "nothing that the pack says"),
    ],
)
def test_questions_for_a_fact_and_answers_that_the_pack_lacks_stay(
    questions: OwnQuestions, question: str, answer: str
) -> None:
    assert questions.check([question], [reply(answer)]) == [reply(answer)]
    assert questions.check([], []) == []


def test_an_edit_answers_whatever_the_pack_says(questions: OwnQuestions) -> None:
    question = "Who is the mayor of the capital of Peru?"
    assert questions.check([question], [reply("Lima", "0123456789ab")])[0].answer == "Lima"


def test_the_subject_is_the_longest_name_that_the_question_has(questions: OwnQuestions) -> None:
    question = "What is the capital of South Korea?"
    assert questions.find(question, "Seoul") == [OwnFact("capital", 23, 34)]
    assert questions.knows(question, OwnFact("capital", 23, 34))


def test_a_scale_of_another_judge_is_refused(questions: OwnQuestions, tmp_path: Path) -> None:
    record = json.loads((FOLDER / SCALE).read_text())
    (tmp_path / SCALE).write_text(json.dumps(record | {"judge": "sha256:other"}))
    write_sums(tmp_path, (SCALE,))
    with pytest.raises(CheckpointError, match="belongs to another judge"):
        OwnQuestions.load(questions.judge, tmp_path)
