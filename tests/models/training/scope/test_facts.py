"""The written facts: the content of each line, and that no test fact is among them."""

from models.training.scope.facts import ALIKE, WrittenFacts, read_facts, split_facts
from models.training.scope.relations import Read
from models.training.scope.training import PLAN
from models.training.scope.trials import read_near


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
    fewer = split_facts(read_facts(), 25, PLAN.seed, [*tests, left_out.question], read)
    assert left_out not in (*fewer.train, *fewer.choose)
