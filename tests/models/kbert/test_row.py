"""Rows: the paper's example, a question with its facts, objects that keep their places, and padding."""

from collections.abc import Callable

import pytest

from models.kbert.query import link_mentions
from models.kbert.row import QuestionRow, Row, build_row, collate
from models.kbert.tree import InputRefused
from models.kit.text import CLS, WordPieces
from models.system import Ask
from tests.models.kbert.questions import KIM, entity_with, linked_ask

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
    assert batch.with_hard_positions().positions.tolist() == [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, *[7] * 6]]


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
