"""Whatever the text and the room, no fact is cut in half and no separator is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.kbert.row import lay_out
from models.kbert.tree import InputRefused, Tree, grow, shorten
from models.kit.text import CLS, MASK, PAD, SEP, SPECIAL_TOKENS, UNK, Word
from tests.parity.authors import Characters

TOKENS = Characters({token: place for place, token in enumerate((PAD, UNK, CLS, SEP, MASK))})
GRAPH = {"a": ["12", "3456789"], "b": ["x"], "cc": ["y" * 40, "z"]}


def tree_of(first: list[str], second: list[str] | None = None) -> Tree:
    texts = [CLS, *first, *([] if second is None else [SEP, *second, SEP])]
    words = [Word(text, is_tag=text in SPECIAL_TOKENS) for text in texts]
    return grow(words, [GRAPH.get(text, []) for text in texts], TOKENS)


def text_of(tree: Tree) -> str:
    return " ".join(token.text for token in lay_out(tree, False).tokens)


def test_a_tree_that_fits_is_left_alone() -> None:
    tree = tree_of(["a", "b"])
    assert shorten(tree, len(tree)) is tree


def test_facts_go_whole_from_the_end() -> None:
    tree = tree_of(["a", "b", "a"])
    assert text_of(tree) == "[CLS] a 1 2 3 4 5 6 7 8 9 b x a 1 2 3 4 5 6 7 8 9"
    assert text_of(shorten(tree, 22)) == "[CLS] a 1 2 3 4 5 6 7 8 9 b x a 1 2"
    assert text_of(shorten(tree, 15)) == "[CLS] a 1 2 3 4 5 6 7 8 9 b x a"
    assert text_of(shorten(tree, 12)) == "[CLS] a 1 2 b a"


def test_a_fact_that_can_never_fit_does_not_push_out_others() -> None:
    assert text_of(shorten(tree_of(["a", "cc", "b"]), 17)) == "[CLS] a 1 2 3 4 5 6 7 8 9 c c z b x"


def test_the_longer_text_of_a_pair_is_cut() -> None:
    tree = tree_of(["q", "r"], list("stuvw"))
    assert text_of(shorten(tree, 8)) == "[CLS] q r [SEP] s t u [SEP]"
    assert text_of(shorten(tree, 7)) == "[CLS] q r [SEP] s t [SEP]"
    assert text_of(shorten(tree, 6)) == "[CLS] q r [SEP] s [SEP]"
    assert shorten(tree, 6).is_shortened


def test_separators_that_have_no_room_are_refused() -> None:
    with pytest.raises(InputRefused, match="alone are more than 2 tokens"):
        shorten(tree_of(["q"], ["r"]), 2)


texts = st.lists(st.sampled_from(["a", "b", "cc", "d", "longer", MASK]), min_size=1, max_size=12)


@given(texts, st.none() | texts, st.integers(8, 40))
def test_nothing_is_halved_or_lost(first: list[str], second: list[str] | None, room: int) -> None:
    tree = tree_of(first, second)
    short = shorten(tree, room)
    row = lay_out(short, False)
    assert len(row) == len(short) <= room
    assert [token.text for token in row.tokens if token.text in (CLS, SEP)] == (
        [CLS] if second is None else [CLS, SEP, SEP]
    )
    branches = {branch.number: branch for branch in tree.branches}
    assert all(branches[branch.number] == branch for branch in short.branches)
    assert short.is_shortened == (tree.trunk_length > room)
    if short.is_shortened:
        assert not short.branches
