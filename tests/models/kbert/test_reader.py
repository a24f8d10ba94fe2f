"""Texts become the rows of the paper and the specification; what cannot is refused in one sentence."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from models.kbert import InputRefused, LongestMatch, Reader, Row, Triple
from models.kbert.graph import Fact
from models.kbert.tags import CLS, SEP

Read = Callable[..., Reader]


def text_of(row: Row) -> list[str]:
    return [token.text for token in row.tokens]


def test_the_papers_example_is_laid_out_as_in_the_paper(reader: Read) -> None:
    row = reader().single("爱吃苹果哈在北京")
    assert text_of(row) == [CLS, *"爱吃苹果产地山东属于水果哈在北京是首都"]
    positions = [0, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 8, 9, 10, 11]
    assert [token.position for token in row.tokens] == positions
    injected = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1]
    assert [int(token.injected) for token in row.tokens] == injected
    assert set(row.segments) == {1}


def test_a_fact_says_where_it_was_read(reader: Read) -> None:
    facts = reader().single("在北京").tree.facts
    assert [(fact.text, fact.triple.source, fact.triple.line) for fact in facts] == [
        ("是首都", "fruit.spo", 3)
    ]


def test_a_pair_counts_its_segments_through_the_facts(reader: Read) -> None:
    row = reader().pair("爱苹果", "在北京")
    assert text_of(row) == [CLS, *"爱苹果产地山东属于水果", SEP, *"在北京是首都", SEP]
    assert row.segments == (1,) * 13 + (2,) * 7
    assert [token.part for token in row.tokens] == [0] * 13 + [1] * 7


def test_a_text_to_tag_stands_alone_and_keeps_its_places(reader: Read) -> None:
    row = reader(predicate=False).tagging("爱 苹 果\t在\n北京")
    assert text_of(row) == [*"爱苹果在北京首都"], "whitespace breaks the name 苹果, and goes"
    trunk = [token for token in row.tokens if not token.injected]
    assert [(token.start, token.end) for token in trunk] == [(n, n + 1) for n in (0, 2, 4, 6, 8, 9)]


def test_a_name_with_a_space_in_it_is_found_and_keeps_its_places(reader: Read) -> None:
    row = reader(Triple("new york", "is", "big")).single("a new york b")
    assert text_of(row) == [CLS, *"anewyorkisbigb"]
    trunk = [token for token in row.tokens if not token.injected and not token.tag]
    assert "".join("a new york b"[token.start : token.end] for token in trunk) == "anewyorkb"


def test_without_a_match_it_is_a_plain_bert_row(reader: Read) -> None:
    row = reader().single("爱好")
    assert text_of(row) == [CLS, "爱", "好"]
    assert row.tree.facts == ()
    assert [token.position for token in row.tokens] == [0, 1, 2]


def test_without_a_graph_the_words_stay(reader: Read) -> None:
    row = reader().without_graph().single("爱吃苹果")
    assert text_of(row) == [CLS, *"爱吃苹果"]
    assert [node.word.text for node in row.tree.nodes] == [CLS, "爱", "吃", "苹果"]


def test_a_tag_in_a_text_is_characters_unless_allowed(reader: Read) -> None:
    assert "[" in text_of(reader().single("好[SEP]好"))
    assert text_of(reader(inline_tags=True).single("好[SEP]好")) == [CLS, "好", SEP, "好"]


def test_a_third_separator_is_refused_before_the_model(reader: Read) -> None:
    with pytest.raises(InputRefused, match=r"a pair has two \[SEP\]"):
        reader(inline_tags=True).pair("好[SEP]好", "好")


@pytest.mark.parametrize("empty", ["", " ", "\t\n\u3000"])
def test_an_empty_text_is_refused(reader: Read, empty: str) -> None:
    for read in (reader().single, reader().tagging):
        with pytest.raises(InputRefused, match="the text is empty"):
            read(empty)
    with pytest.raises(InputRefused, match="the first text is empty"):
        reader().pair(empty, "好")
    with pytest.raises(InputRefused, match="the second text is empty"):
        reader().pair("好", empty)


def test_separators_alone_are_an_empty_text(reader: Read) -> None:
    with pytest.raises(InputRefused, match="the text is empty"):
        reader(inline_tags=True).single("[SEP]")


def test_rank_chooses_before_the_cut_and_looks_at_the_question(reader: Read) -> None:
    asked: list[tuple[str, ...]] = []

    def rank(texts: tuple[str, ...], facts: list[Fact]) -> list[float]:
        asked.append(texts)
        return [float("水" in fact.text) for fact in facts]

    row = reader(max_entities=1, rank=rank).pair("苹果好", "北京")
    assert [fact.text for fact in row.tree.facts] == ["属于水果", "是首都"]
    assert [(one.fact.text, one.why) for one in row.tree.left_out] == [("产地山东", "limit")]
    assert asked == [("苹果好", "北京")], "one call for all facts of an input"


def test_equal_ranks_keep_the_order_of_the_graph(reader: Read) -> None:
    row = reader(rank=lambda texts, facts: [1.0] * len(facts)).single("苹果")
    assert [fact.text for fact in row.tree.facts] == ["产地山东", "属于水果"]


@pytest.mark.parametrize("scores", [[], [1.0], [1.0, float("nan")]])
def test_a_rank_that_does_not_score_every_fact_is_refused(reader: Read, scores: list[float]) -> None:
    with pytest.raises(ValueError, match="rank must give 2 numbers"):
        reader(rank=lambda texts, facts: scores).single("苹果")


def test_any_segmenter_will_do(reader: Read) -> None:
    """Here one that links a pronoun to an entity by its key."""
    linked = LongestMatch(["它"])
    by_key = replace(
        reader(),
        segment=lambda text: [replace(word, key="北京") for word in linked(text) if word.text == "它"],
    )
    assert [fact.text for fact in by_key.single("它好").tree.facts] == ["是首都"]


def test_a_long_text_keeps_its_separators_and_reports_what_went(reader: Read) -> None:
    row = reader(max_length=8).pair("爱吃苹果哈在北京", "好")
    assert text_of(row) == [CLS, *"爱吃苹果", SEP, "好", SEP]
    assert {one.why for one in row.tree.left_out} == {"room"}
    assert [word.text for word in row.tree.shortened] == ["哈", "在", "北京"]


def test_blind_truncation_reports_what_it_hurt(reader: Read) -> None:
    row = reader(max_length=8, truncate="blind").pair("爱吃苹果哈在北京", "好")
    assert text_of(row) == [CLS, *"爱吃苹果产地山"]
    assert [one.fact.text for one in row.tree.left_out] == ["产地山东", "属于水果", "是首都"]
    assert [word.text for word in row.tree.shortened] == ["哈", "在", "北京", SEP, "好", SEP]
