"""The table only grows while views use it, shares equal wordings, and is begun anew when most of it is nobody's."""

import pytest
import torch

from models.nkb.reader import Reader
from models.scope import wording_table
from tests.models.scope.wordings import ask, block, table

PERU, CHILE = "What is the capital of Peru?", "What is the capital of Chile?"


def test_an_old_view_is_unmoved_when_the_table_grows(reader: Reader) -> None:
    wordings = table(reader)
    old = wordings.view([block(reader, "a", 1, PERU)])
    before = old.table.codes.clone()
    wordings.view([block(reader, str(n), n, f"What is the capital of land {n}?") for n in range(2, 150)])
    assert torch.equal(old.table.codes, before)
    assert ask(reader, old, PERU, "What is the capital of land 50?") == ["a", None]


def test_an_empty_table_answers_nothing(reader: Reader) -> None:
    assert ask(reader, table(reader).view([]), PERU) == [None]


def test_equal_wordings_and_blocks_seen_before_take_no_new_rows(reader: Reader) -> None:
    wordings = table(reader)
    assert len(wordings.view([block(reader, "a", 1, PERU, CHILE)]).table) == 2
    assert len(wordings.view([block(reader, "a", 1, PERU, CHILE)]).table) == 2
    assert len(wordings.view([block(reader, "b", 2, CHILE, PERU)]).table) == 2


def test_rows_that_are_nobodys_any_more_are_let_go(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view of before and one of after answer together all the same."""
    monkeypatch.setattr(wording_table, "SPARE", 8)
    wordings, permanent = table(reader), block(reader, "kept", 1, PERU)
    before = wordings.view([permanent])
    for n in range(2, 30):
        last = wordings.view([permanent, block(reader, str(n), n, f"Who leads project {n}?")])
        assert len(last.table) <= 8 + 2 * 4 + 1
    assert last.generation > before.generation
    readings = reader.read([PERU, "Who leads project 29?"] * 2).readings
    matches = reader.scope.route(readings, [before, before, last, last])
    assert [match and match.edit for match in matches] == ["kept", None, "kept", "29"]


def test_a_look_at_a_small_version_costs_the_large_one_nothing(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wording_table, "SPARE", 8)
    wordings = table(reader)
    edits = [block(reader, str(n), n, f"Who leads project {n}?") for n in range(1, 40)]
    newest = wordings.view(edits)
    assert wordings.view([]).generation == newest.generation == wordings.view(edits).generation


def test_what_changed_between_two_views_are_the_wordings_that_another_edit_answers(reader: Reader) -> None:
    wordings, peru = table(reader), block(reader, "a", 1, PERU, "Peru's capital?")
    views = [wordings.view(blocks) for blocks in ([], [peru], [peru, block(reader, "b", 2, CHILE)])]
    assert len(views[1].changed_since(views[0])) == 2
    assert len(views[0].changed_since(views[1])) == 2
    assert len(views[2].changed_since(views[1])) == 1
    heir = block(reader, "c", 3, PERU, replaces=["a"])
    assert len(wordings.view([peru, heir]).changed_since(views[1])) == 2
