"""Whatever the text and the room, no fact is cut in half and no separator is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.kbert import Characters, Graph, InputRefused, Triple
from models.kbert.row import row
from models.kbert.tags import CLS, MASK, PAD, SEP, UNK
from models.kbert.tree import Tree, grow
from models.kbert.truncate import blind, trunk_first
from models.kbert.words import given as words_of

TOKENS = Characters({token: place for place, token in enumerate((PAD, UNK, CLS, SEP, MASK))})
GRAPH = Graph(
    [
        Triple("a", "-", "12"),
        Triple("a", "-", "3456789"),
        Triple("b", "-", "x"),
        Triple("cc", "-", "y" * 40),
        Triple("cc", "-", "z"),
    ],
    predicate=False,
)


def tree_of(first: list[str], second: list[str] | None = None) -> Tree:
    words = [CLS, *first, *([] if second is None else [SEP, *second, SEP])]
    return grow(words_of(words), GRAPH, TOKENS, 2)


def text_of(tree: Tree) -> str:
    return " ".join(token.text for token in row(tree, "single").tokens)


def test_a_tree_that_fits_is_left_alone() -> None:
    tree = tree_of(["a", "b"])
    assert trunk_first(tree, len(tree)) is tree


def test_facts_go_whole_from_the_end() -> None:
    tree = tree_of(["a", "b", "a"])
    assert text_of(tree) == "[CLS] a 1 2 3 4 5 6 7 8 9 b x a 1 2 3 4 5 6 7 8 9"
    assert text_of(trunk_first(tree, 22)) == "[CLS] a 1 2 3 4 5 6 7 8 9 b x a 1 2"
    assert text_of(trunk_first(tree, 15)) == "[CLS] a 1 2 3 4 5 6 7 8 9 b x a"
    assert text_of(trunk_first(tree, 12)) == "[CLS] a 1 2 b a"


def test_a_fact_that_can_never_fit_does_not_push_out_others() -> None:
    tree = tree_of(["a", "cc", "b"])
    cut = trunk_first(tree, 17)
    assert text_of(cut) == "[CLS] a 1 2 3 4 5 6 7 8 9 c c z b x"
    assert [(one.fact.text[0], one.why) for one in cut.left_out] == [("y", "room")]


def test_the_longer_text_of_a_pair_is_cut() -> None:
    tree = tree_of(["q", "r"], list("stuvw"))
    assert text_of(trunk_first(tree, 8)) == "[CLS] q r [SEP] s t u [SEP]"
    assert text_of(trunk_first(tree, 7)) == "[CLS] q r [SEP] s t [SEP]"
    assert text_of(trunk_first(tree, 6)) == "[CLS] q r [SEP] s [SEP]"


def test_separators_that_have_no_room_are_refused() -> None:
    with pytest.raises(InputRefused, match="alone are more than 2 tokens"):
        trunk_first(tree_of(["q"], ["r"]), 2)


texts = st.lists(st.sampled_from(["a", "b", "cc", "d", "longer", MASK]), min_size=1, max_size=12)


@given(texts, st.none() | texts, st.integers(8, 40))
def test_nothing_is_halved_or_lost_unsaid(first: list[str], second: list[str] | None, room: int) -> None:
    tree = tree_of(first, second)
    cut = trunk_first(tree, room)
    made = row(cut, "single")
    assert len(made) == len(cut) <= room
    assert [token.text for token in made.tokens if token.text in (CLS, SEP)] == (
        [CLS] if second is None else [CLS, SEP, SEP]
    )
    whole = {branch.fact.text: len(branch.pieces) for node in tree.nodes for branch in node.branches}
    for node in cut.nodes:
        assert all(len(branch.pieces) == whole[branch.fact.text] for branch in node.branches)
    assert sorted(one.text for one in tree.facts) == sorted(
        [one.text for one in cut.facts] + [one.fact.text for one in cut.left_out]
    )
    assert bool(cut.shortened) == (cut.trunk_length < tree.trunk_length)
    assert not (cut.shortened and cut.facts), "text is cut only when no fact is left"


@given(texts, st.integers(1, 40))
def test_blind_truncation_is_the_beginning_of_the_row(first: list[str], room: int) -> None:
    whole = row(tree_of(first), "single")
    cut = blind(whole, room)
    assert cut.tokens == whole.tokens[:room]
    assert len(cut.segments) == len(cut)
    assert bool(cut.tree.left_out or cut.tree.shortened) == (len(whole) > room)
