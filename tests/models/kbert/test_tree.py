"""Whatever the text and the room, no fact is cut in half and no separator is lost.

The visible matrix on the paper's small cases, and what holds of every tree.
Rows: the paper's example, a question with its facts, objects that keep their places, and padding.
"""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.kbert.query import link_mentions
from models.kbert.row import QuestionRow, Row, build_row, collate, lay_out, visible
from models.kbert.tree import InputRefused, Tree, grow, shorten
from models.kit.text import CLS, MASK, PAD, SEP, SPECIAL_TOKENS, UNK, Word, WordPieces
from models.system import Ask
from tests.models.kbert.ablations import with_hard_positions
from tests.models.kbert.test_bars import KIM, entity_with, linked_ask
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


def rows(branch: list[int], anchor: list[int]) -> list[str]:
    matrix = visible(torch.tensor(branch), torch.tensor(anchor))
    return ["".join("1" if may_attend else "." for may_attend in row) for row in matrix.tolist()]


def test_a_fact_sees_its_word_and_itself() -> None:
    """苹果好 with 属于水果 on 苹果."""
    assert rows([0, 0, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 1]) == [
        "1111111",
        "1111111",
        "111111.",
        "111111.",
        "111111.",
        "111111.",
        "11....1",
    ]


def test_two_facts_of_one_word_do_not_see_each_other() -> None:
    assert rows([0, 1, 2], [0, 0, 0]) == ["111", "11.", "1.1"]


def test_a_fact_does_not_see_another_place_of_its_word() -> None:
    assert rows([0, 1, 0, 2], [0, 0, 1, 1]) == ["111.", "11..", "1.11", "..11"]


def test_a_batch_is_its_rows() -> None:
    branch, anchor = torch.tensor([[0, 1, 0], [0, 0, 1]]), torch.tensor([[0, 0, 1], [0, 1, 1]])
    together = visible(branch, anchor)
    for row in range(2):
        assert together[row].equal(visible(branch[row], anchor[row]))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_every_tree_is_symmetric_and_every_token_sees_itself_and_its_word(facts: list[int]) -> None:
    branch, anchor, count = [], [], 0
    for word, hung in enumerate(facts):
        branch += [0, *range(count + 1, count + 1 + hung)]
        anchor += [word] * (1 + hung)
        count += hung
    branches, anchors = torch.tensor(branch), torch.tensor(anchor)
    matrix = visible(branches, anchors)
    assert matrix.equal(matrix.T)
    assert matrix.diagonal().all()
    assert matrix[branches == 0][:, branches == 0].all()
    is_injected = branches > 0
    assert matrix[is_injected].sum(1).eq(2).all(), "a fact of one token sees itself and its word of one token"


RANKS = {"place of birth": 0.9, "occupation": 0.2, "spouse": 0.4, "borders": 0.5}


def build(pieces: WordPieces, ask: Ask, second: str | None = None) -> QuestionRow:
    links = link_mentions(ask.mentions, [RANKS] * len(ask.mentions), 6, 4)
    return build_row(ask.question, second, links, pieces, 64)


def object_texts(row: QuestionRow) -> list[str]:
    tokens = row.row.tokens
    return [
        relation.text[tokens[first].start : tokens[last].end]
        for relation, (first, last) in zip(row.relations, row.objects, strict=True)
    ]


def test_the_papers_example_is_laid_out_as_in_the_paper(read: Callable[..., Row]) -> None:
    row = read("爱吃", "苹果", "哈", "在", "北京")
    assert [token.text for token in row.tokens] == [CLS, *"爱吃苹果产地山东属于水果哈在北京是首都"]
    positions = [0, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 8, 9, 10, 11]
    assert [token.position for token in row.tokens] == positions
    is_injected = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1]
    assert [int(token.is_injected) for token in row.tokens] == is_injected
    assert set(row.segments) == {1}


def test_hard_positions_are_the_places_in_the_row(read: Callable[..., Row]) -> None:
    batch = collate([read("在", "北京", "好"), read("好")], 0)
    assert batch.positions[0].tolist() == [0, 1, 2, 3, 4, 5, 6, 4]
    assert with_hard_positions(batch).positions.tolist() == [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, *[7] * 6]]


def test_facts_hang_on_the_mention_and_count_on_from_it(pieces: WordPieces) -> None:
    row = build(pieces, linked_ask("Where was Kim Lee born?", "Kim Lee", KIM))
    trunk = [token.text for token in row.row.tokens if not token.is_injected]
    assert trunk == ["[CLS]", "where", "was", "kim", "lee", "born", "?"]
    first = [(token.text, token.position) for token in row.row.tokens if token.branch == 1]
    assert first == [("place", 5), ("of", 6), ("birth", 7), ("oslo", 8)]
    assert object_texts(row) == ["Oslo", "Ada Berg", "painter"]


def test_a_second_text_follows_the_question_in_its_own_segment(pieces: WordPieces) -> None:
    row = build(pieces, linked_ask("Where was Kim Lee born?", "Kim Lee", KIM), "In Oslo, they say.")
    second = [token for token in row.row.tokens if token.part == 1 and not token.is_tag]
    assert [token.text for token in second] == ["in", "oslo", ",", "they", "say", "."]
    assert object_texts(row) == ["Oslo", "Ada Berg", "painter"]
    tokens = row.row.tokens
    first_end = next(place for place, token in enumerate(tokens) if token.text == "[SEP]")
    assert row.row.segments == (1,) * (first_end + 1) + (2,) * (len(tokens) - first_end - 1)


def test_a_fact_that_has_no_room_is_left_out_whole(pieces: WordPieces) -> None:
    entity = entity_with(("borders", "borders", "many " * 80), ("spouse", "spouse", "Ada Berg"))
    row = build(pieces, linked_ask("Where was Kim Lee born?", "Kim Lee", entity))
    assert object_texts(row) == ["Ada Berg"]


def test_an_object_without_a_token_has_no_place(pieces: WordPieces) -> None:
    entity = entity_with(("spouse", "spouse", "\u200b"))
    row = build(pieces, linked_ask("Where was Kim Lee born?", "Kim Lee", entity))
    assert row.objects == [(0, 0)]


@pytest.mark.parametrize("second", [None, "\u200b"])
def test_a_text_without_a_token_is_refused(pieces: WordPieces, second: str | None) -> None:
    with pytest.raises(InputRefused, match="holds no token"):
        build_row("\u200b" if second is None else "Who?", second, [], pieces, 64)
