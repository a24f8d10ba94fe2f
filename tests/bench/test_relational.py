"""The bench of answers over two facts measures right answers, and refuses to time wrong ones."""

import random

import pytest

from tests.bench import relational
from tests.bench.relational import compare_graphs, draw_people, make_blocks


def test_every_person_was_born_in_a_city_that_has_a_country() -> None:
    facts = list(make_blocks(100))
    assert len(facts) == 100
    [(person, country)] = draw_people(100, 1, random.Random(1))
    [city] = [o for s, relation, o in facts if (s, relation) == (person, "place_of_birth")]
    assert (city, "country", country) in facts


async def test_two_small_graphs_are_compared_by_right_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    row = await compare_graphs(200, 400, 8)
    assert row.figure > 0
    assert "8 questions" in row.note
    monkeypatch.setattr(relational, "QUESTION", "What is the height of {subject}?")
    with pytest.raises(AssertionError, match="0 % of the answers are right"):
        await compare_graphs(200, 400, 2)
