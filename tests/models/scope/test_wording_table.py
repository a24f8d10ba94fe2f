"""The table only grows while views use it, shares equal wordings, and is begun anew when most of it is unused."""

from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.blocks import Block, Image
from models.nkb.reader import Reader
from models.scope.active import ActiveEdits
from models.scope.change import Change
from models.scope.literals import digest_literals, digest_wordings
from models.scope.values import VERSION
from models.scope.wordings import table as wording_table
from models.scope.wordings.block import read_blocks
from models.scope.wordings.packed_tokens import PackedTokens
from tests.hypotheses import examples
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
    """A view from before and one from after still answer together."""
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
    assert len(Change.between(views[0], views[1]).wordings) == 2
    assert len(Change.between(views[1], views[0]).wordings) == 2
    assert len(Change.between(views[1], views[2]).wordings) == 1
    heir = block(reader, "c", 3, PERU, replaces=["a"])
    assert len(Change.between(views[1], wordings.view([peru, heir])).wordings) == 2


def test_a_block_without_digests_and_pieces_is_read_from_its_texts(reader: Reader) -> None:
    fresh = block(reader, "a", 1, PERU, "Who leads project 7?", counterexamples=[CHILE])
    read = ("digests", "pieces", "literals")
    tensors = {name: value for name, value in fresh.tensors.items() if name not in read}
    earlier = Block.of(fresh.key, 1, "gated", tensors)
    sides = [table(reader).view([part]).table for part in (fresh, earlier)]
    assert list(sides[0].tokens) == list(sides[1].tokens)
    for column, other in zip(sides[0].columns, sides[1].columns, strict=True):
        assert torch.equal(column, other)


@pytest.mark.parametrize("version", [None, VERSION - 1])
def test_wordings_that_were_read_by_earlier_rules_are_read_anew(reader: Reader, version: int | None) -> None:
    fresh = block(reader, "a", 1, "Who leads section 4.2?")
    tensors = {name: value for name, value in fresh.tensors.items() if name != "literals"}
    if version is not None:
        tensors["literals"] = torch.tensor(version, dtype=torch.int32)
    tensors["digests"] = tensors["digests"].clone().fill_(7)
    tensors["pieces"] = tensors["pieces"].clone().fill_(1)
    earlier = Block.of(fresh.key, 1, "gated", tensors)
    first, second = (read_blocks([part], reader.scope.judge) for part in (fresh, earlier))
    assert first.digests[1] == second.digests[1] != 7
    assert list(first.tokens) == list(second.tokens)


def test_blocks_of_many_shapes_are_read_together_as_each_by_itself(reader: Reader) -> None:
    blocks = [
        block(reader, "a", 1, PERU, "Peru's capital?", "Which city is Peru's seat of government?"),
        block(reader, "b", 2, CHILE, counterexamples=["What is the capital of Chile's north?", PERU]),
        block(reader, "c", 3, "Who founded Elisenhof?", replaces=["a", "b"]),
        block(reader, "d", 4, CHILE),
    ]
    together = read_blocks(blocks, reader.scope.judge)
    alone = [read_blocks([part], reader.scope.judge) for part in blocks]
    assert together.counts.tolist() == [3, 3, 1, 1]
    assert (together.replacing, together.with_counterexamples) == ([2], [1])
    assert list(together.tokens) == [tokens for part in alone for tokens in part.tokens]
    assert list(together.tokens) == [reader.scope.judge.tokens(text.decode()) for text in together.texts]
    for name in ("codes", "subjects"):
        assert (getattr(together, name) == np.concatenate([getattr(part, name) for part in alone])).all()
    assert (together.digests == np.concatenate([part.digests for part in alone], axis=1)).all()
    texts = [text.decode() for text in together.texts]
    assert together.digests.tolist() == [digest_wordings(texts).tolist(), digest_literals(texts).tolist()]


@given(st.lists(st.lists(st.binary(max_size=5).map(lambda text: text * 2))))
def test_packed_tokens_are_the_tokens_that_were_appended(parts: list[list[bytes]]) -> None:
    packed, texts = PackedTokens(), [text for part in parts for text in part]
    for part in map(PackedTokens.of, parts):
        packed.append(part.ids, part.lengths)
    assert list(packed) == texts
    assert list(packed.select(np.arange(len(texts))[::-1])) == texts[::-1]


@given(st.lists(st.sets(st.integers(0, 5)), min_size=2, max_size=5))
@examples(30)
def test_each_version_of_a_shared_table_is_what_a_table_of_its_own_gives(
    reader: Reader, versions: list[set[int]]
) -> None:
    """Edits come and go in any order; two share a wording, one has a counterexample, and two replace others."""
    edits = _edits(reader)
    shared, image = table(reader), Image("base")
    for version in versions:
        target = Image("base", {edits[place].key: edits[place] for place in version})
        image = image.apply(image.delta_to(target))
        actual, expected = (
            [
                view.last_successors.tolist(),
                *(_by_wording(view, row) for row in range(len(view.table)) if view.is_read[row]),
            ]
            for view in (shared.view(image.ordered_blocks), table(reader).view(target.ordered_blocks))
        )
        assert actual[0] == expected[0]
        assert sorted(actual[1:]) == sorted(expected[1:])


@cache
def _edits(reader: Reader) -> list[Block]:
    return [
        block(reader, "a", 1, PERU, "Peru's capital?"),
        block(reader, "b", 2, CHILE),
        block(reader, "c", 3, PERU, replaces=["a"]),
        block(reader, "d", 4, "Who leads project 7?", counterexamples=[CHILE]),
        block(reader, "e", 5, "What is Peru's seat?", replaces=["c", "b"]),
        block(reader, "f", 6, "Who founded Elisenhof?"),
    ]


def _by_wording(view: ActiveEdits, row: int) -> tuple[int, int, int, list[int]]:
    """Return the wording at a row, its owner, the edit that answers there, and the edit whose counterexample it is."""
    owners = int(view.owner[row]), int(view.answering_edit[row])
    return (int(view.table.wordings[row]), *owners, list(view.against.get(row, ())))
