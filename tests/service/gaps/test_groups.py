"""Lines are taken together by the fact that is missing, and by the thing that it is missing of."""

from __future__ import annotations

import pytest

from service.curation.gaps import Gap, Sighting, find_thing, group_by_fact, group_by_thing


def gap(line: int, question: str, thing: str, count: int) -> Gap:
    return Gap(line, Sighting(question, "auto", "uncovered", count, 0.0, thing))


GAPS = [
    gap(1, "When is the Tide Mill open on Monday?", "Tide Mill", 5),
    gap(2, "when is the Rope Walk open on monday", "Rope Walk", 2),
    gap(3, "What is the fax number of Rope Walk?", "Rope Walk", 4),
    gap(4, "And on Sunday?", "", 9),
]


def test_one_missing_fact_of_several_things_is_one_group() -> None:
    groups = [(g.name, g.members, g.count, [gap.line for gap in g.gaps]) for g in group_by_fact(GAPS)]
    assert groups == [
        ("When is the … open on Monday?", ("Tide Mill", "Rope Walk"), 7, [1, 2]),
        ("What is the fax number of …?", ("Rope Walk",), 4, [3]),
    ]


def test_missing_facts_of_one_thing_are_one_group() -> None:
    groups = [(g.name, g.members, g.count) for g in group_by_thing(GAPS)]
    assert groups == [
        ("Rope Walk", ("What is the fax number of …?", "when is the … open on monday"), 6),
        ("Tide Mill", ("When is the … open on Monday?",), 5),
    ]


@pytest.mark.parametrize(
    ("question", "subject", "thing"),
    [
        ("Is the TIDE mill open?", "Tide Mill", "TIDE mill"),
        ("Is the Tide Millhouse open?", "Tide Mill", ""),
        ("Is the (old) Mill? open?", "(old) Mill?", ""),
        ("Who?", "Tide Mill", ""),
    ],
)
def test_the_thing_is_the_subject_that_the_question_names(question: str, subject: str, thing: str) -> None:
    assert find_thing(question, {"facts": [{"subject": subject}]}) == thing
    assert find_thing(question, {"facts": []}) == ""
