"""Candidates are the neighbours by relation, or the texts of a request by their rows."""

import torch

from models.graph.knowledge import Entity, Fact
from models.thu_ernie.candidates import (
    FEATURE_LIMIT,
    NO_ROW,
    Alignment,
    align,
    list_neighbours,
    list_texts,
)
from models.thu_ernie.entities.table import EntityTable, EntityView
from models.thu_ernie.reader import FoundRow, RowFinder
from tests.models.thu_ernie.answering.tiny import ANSWERS, KIM

NAMES = {answer.casefold(): name for answer, name in ANSWERS.items()}


def test_values_of_one_relation_are_one_candidate(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    facts = (
        Fact("birth", "b", "Rome", "rome"),
        Fact("birth", "b", "Oslo", "oslo"),
        Fact("spouse", "s", "Ada", "ada"),
    )
    entity = Entity("kim", "Kim", facts=facts)
    choice = list_neighbours(entity, finder.of_entity(entity), finder)
    assert [candidate.answer for candidate in choice.candidates] == ["Oslo, Rome", "Ada"]
    assert [len(candidate.rows) for candidate in choice.candidates] == [2, 1]


def test_an_object_without_any_row_is_told(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    entity = Entity("kim", "Kim", facts=(Fact("unknown", "u", "Nowhere"),))
    choice = list_neighbours(entity, finder.of_entity(entity), finder)
    assert choice.candidates == ()
    assert [(drop.answer, drop.reason) for drop in choice.exclusions] == [("Nowhere", NO_ROW)]


def test_texts_of_a_request_are_found_by_neighbour_answer_or_value(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    neighbours = list_neighbours(KIM, finder.of_entity(KIM), finder)
    choice = list_texts(["OSLO", "Rome", "1.80 m", "Atlantis"], [neighbours], NAMES, finder)
    assert [candidate.answer for candidate in choice.candidates] == ["OSLO", "Rome", "1.80 m"]
    assert [drop.answer for drop in choice.exclusions] == ["Atlantis"]


def test_the_logit_of_a_candidate_adds_up_its_objects(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    entity = Entity(
        "kim", "Kim", facts=(Fact("birth", "b", "Rome", "rome"), Fact("birth", "b", "Oslo", "oslo"))
    )
    [candidate] = list_neighbours(entity, finder.of_entity(entity), finder).candidates
    query = torch.linspace(-1, 1, 12)
    [entry] = align(query, [candidate], 0)
    expected = torch.logsumexp(torch.stack([row.vector for row in candidate.rows]) @ query, 0)
    assert abs(entry.logit - float(expected)) < 1e-5


def test_the_zero_row_has_a_share_and_features_are_bounded(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    candidates = list_neighbours(KIM, finder.of_entity(KIM), finder).candidates
    entries = align(torch.zeros(12), candidates, 0)
    shares, no_answer = Alignment(tuple(entries)).shares()
    assert shares == [0.25] * 3
    assert no_answer == 0.25
    far = align(1000 * candidates[0].rows[0].vector, candidates, 0)
    assert Alignment(tuple(sorted(far, key=lambda entry: -entry.logit))).features == (
        FEATURE_LIMIT,
        FEATURE_LIMIT,
    )


def test_edits_of_facts_and_of_rows_are_named_once(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    spouse = list_neighbours(KIM, finder.of_entity(KIM), finder).candidates[1]
    assert spouse.edits == ("edit 7",)
    row = FoundRow(spouse.rows[0].vector, "edit", "edit 7")
    assert type(spouse)(spouse.answer, (row, row), KIM, spouse.facts).edits == ("edit 7",)
