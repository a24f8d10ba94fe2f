"""The written facts: the content of each line, and that no test fact is among them."""

import json
from pathlib import Path

import pytest

from models.training.scope.facts import ALIKE, WrittenFacts, read_facts, read_groups, split_facts
from models.training.scope.plan import DEFAULT
from models.training.scope.relations import Read
from models.training.scope.trials import ask_written, read_near


def test_each_fact_has_other_wordings_and_near_questions(facts: WrittenFacts) -> None:
    assert len(facts.choose) == 25
    for fact in (*facts.train, *facts.choose):
        assert len(fact.same) >= 6
        assert len(fact.near) >= 10
        texts = [text.casefold() for text in (*fact.wordings, *(near for _, near in fact.near))]
        assert len(set(texts)) == len(texts), fact.question
        assert all(name in fact.question for name in fact.names)


def test_none_is_both_learned_from_and_chosen_by(facts: WrittenFacts) -> None:
    assert not {fact.question for fact in facts.train} & {fact.question for fact in facts.choose}


def test_what_resembles_a_test_is_left_out(facts: WrittenFacts, read: Read) -> None:
    tests = read_near().edits
    questions = [fact.question for fact in (*facts.train, *facts.choose)]
    assert float((read(questions) @ read(tests).T).max()) < ALIKE
    left_out = facts.train[0]
    fewer = split_facts(read_facts(), 25, DEFAULT.seed, [*tests, left_out.question], read)
    assert left_out not in (*fewer.train, *fewer.choose)


def test_a_fact_is_a_trial_of_its_wordings_and_of_what_is_near(facts: WrittenFacts) -> None:
    trial = ask_written(facts.choose[:2])
    assert trial.edits == tuple(fact.question for fact in facts.choose[:2])
    following = [question.text for question in trial.questions if question.edit == 1]
    assert tuple(following) == facts.choose[1].same


def test_groups_are_facts_with_the_name_that_their_wording_has(tmp_path: Path) -> None:
    row = {
        "wording": "Who is the mayor of Brandholm?",
        "subject": "Brandholm",
        "same": ["mayor brandholm name"],
        "near": [{"kind": "time", "question": "Who was mayor of Brandholm before?"}],
    }
    (tmp_path / "groups").mkdir()
    lines = [json.dumps(row), json.dumps({**row, "subject": "the town"})]
    (tmp_path / "groups" / "places.jsonl").write_text("\n".join(lines) + "\n")
    first, second = read_groups(tmp_path)
    assert first.wordings == ("Who is the mayor of Brandholm?", "mayor brandholm name")
    assert first.near == (("time", "Who was mayor of Brandholm before?"),)
    assert (first.names, second.names) == (("Brandholm",), ())
    with pytest.raises(FileNotFoundError, match="--sets"):
        read_groups(tmp_path / "nowhere")
