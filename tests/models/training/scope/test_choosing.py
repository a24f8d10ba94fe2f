"""A judge is calibrated on crowds of three kinds, and on sentences that an answer completes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from models.training.scope.choosing import BEHIND_SENTENCE, Choosing
from models.training.scope.facts import WrittenFacts
from models.training.scope.relations import AskedRelation
from models.training.scope.rewrites import Rewriter
from models.training.scope.trials import ABSENT, FOLLOWS, Trial
from models.training.scope.wordnet import WordNet

NAMES = (
    "Anna Bergmann",
    "Otto Lindqvist",
    "Ida Holmgren",
    "Nils Sandberg",
    "Ole Brandt",
    "Eva Kristensen",
) * 3
RELATIONS = {
    name: AskedRelation(
        name, "person", "", name, tuple(f"Who is the {name} of {{subject}}, {n}?" for n in range(4))
    )
    for name in ("aunt", "doctor", "teacher")
}
SENTENCE = "It rains."


@pytest.fixture
def all_trials(facts: WrittenFacts, tmp_path: Path, wordnet: WordNet) -> Sequence[Trial]:
    names = [f"{name} {place}" for place, name in enumerate(NAMES)]
    by_type = {"person": sorted(set(NAMES))}
    rewriter = Rewriter({}, wordnet)
    return Choosing(RELATIONS, names, by_type, facts.choose, [SENTENCE], rewriter, 1).make_trials()


def test_crowds_ask_for_names_that_no_edit_has(all_trials: Sequence[Trial]) -> None:
    crowds = [trial for trial in all_trials if trial.name == "crowds for choosing"]
    assert len(crowds) == 8
    for trial in crowds:
        assert {FOLLOWS, ABSENT} <= {question.kind for question in trial.questions}
    wordings = {text for trial in crowds[-3:] for text in trial.edits}
    assert not all(any(name in text for name in NAMES) for text in wordings), "some names are of two"


def test_some_questions_stand_behind_a_sentence(all_trials: Sequence[Trial]) -> None:
    trial = all_trials[5]
    share = sum(question.text.startswith(SENTENCE) for question in trial.questions) / len(trial.questions)
    assert abs(share - BEHIND_SENTENCE) < 0.15
    assert any(text.startswith("The aunt of") for text in trial.edits), "a sentence to complete"
    bare = [
        replace(question, text=question.text.removeprefix(f"{SENTENCE} ")) for question in trial.questions
    ]
    assert not any(question.text.endswith("?") for question in bare if question.text.startswith("The "))
