"""Sixty things are always the same, with nine facts each and 23 questions that none of these answers."""

from tests.bench.untaught import FACTS, MISSING_FACTS, draw_facts


def test_sixty_things_of_nine_facts_are_asked_for_what_they_lack() -> None:
    facts = draw_facts()
    assert facts == draw_facts()
    assert len(facts) == 60
    assert all(list(values) == list(FACTS) for values in facts.values())
    wordings = [wording for group in MISSING_FACTS.values() for wording in group]
    assert len(set(wordings)) == len(wordings) == 23
    assert not {question for pair in FACTS.values() for question in pair}.intersection(wordings)
