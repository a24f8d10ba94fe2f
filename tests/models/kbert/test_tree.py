"""Whatever the text and the room, no fact is cut in half and no separator is lost."""

from hypothesis import given
from hypothesis import strategies as st

from models.kbert.row import lay_out
from models.kbert.text import CLS, MASK, PAD, SEP, SPECIAL_TOKENS, UNK, Word
from models.kbert.tree import Tree, grow, shorten
from tests.parity.authors import Characters

TOKENS = Characters({token: place for place, token in enumerate((PAD, UNK, CLS, SEP, MASK))})
GRAPH = {"a": ["12", "3456789"], "b": ["x"], "cc": ["y" * 40, "z"]}


def tree_of(first: list[str], second: list[str] | None = None) -> Tree:
    texts = [CLS, *first, *([] if second is None else [SEP, *second, SEP])]
    words = [Word(text, is_tag=text in SPECIAL_TOKENS) for text in texts]
    return grow(words, [GRAPH.get(text, []) for text in texts], TOKENS)


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
