"""`.spo` files: what is a triple, and what is said of lines that are none."""

from pathlib import Path

import pytest

from models.kbert import Graph, GraphRefused, Triple, parse_spo, read_spo


def test_a_file_is_read_with_the_place_of_every_triple_and_of_every_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "fruit.spo"
    lines = ["苹果\t属于\t水果", "no tab", "a\tb\tc\td", "梨\t\t水果", "", " 梨 \t属于\t a b \r"]
    path.write_bytes("\n".join(lines).encode() + b"\n\xff\tb\tc\n[CLS]\tb\tc\n")
    parsed = read_spo(path)
    source = str(path)
    assert parsed.triples == (
        Triple("苹果", "属于", "水果", source, 1),
        Triple("梨", "属于", "a b", source, 6),
    )
    assert [(one.source, one.line, one.reason) for one in parsed.bad] == [
        (source, 2, "1 columns instead of 3"),
        (source, 3, "4 columns instead of 3"),
        (source, 4, "the predicate is empty"),
        (source, 5, "1 columns instead of 3"),
        (source, 7, "not UTF-8 (invalid start byte at byte 0)"),
        (source, 8, "the subject is the tag [CLS]"),
    ]


def test_a_bad_first_line_and_a_byte_order_mark_do_no_harm() -> None:
    assert parse_spo(["bad"]).triples == ()
    assert parse_spo([b"\xef\xbb\xbfa\tb\tc"]).triples[0].subject == "a"


def test_the_second_of_two_equal_values_is_dropped() -> None:
    triples = parse_spo(["a\tp\tx", "a\tp\ty", "a\tp\tx", "a\tq\tx"]).triples
    with_predicate, without = Graph(triples, predicate=True), Graph(triples, predicate=False)
    assert [fact.text for fact in with_predicate.facts("a")] == ["px", "py", "qx"]
    assert [fact.text for fact in without.facts("a")] == ["x", "y"]
    assert [fact.triple.line for fact in without.facts("a")] == [1, 2]
    assert (with_predicate.repeated, without.repeated) == (1, 2)
    assert len(with_predicate) == 3


def test_values_may_have_a_space_between_predicate_and_object() -> None:
    graph = Graph([Triple("Peru", "capital", "Lima")], predicate=True, separator=" ")
    assert graph.facts("Peru")[0].text == "capital Lima"


def test_a_stranger_has_no_facts() -> None:
    assert Graph([], predicate=True).facts("a") == ()


@pytest.mark.parametrize(
    ("subject", "reason"), [("", "empty"), ("[SEP]", r"the tag \[SEP\]"), ("a\tb", "contains a tab")]
)
def test_a_subject_that_cannot_be_looked_up_is_refused(subject: str, reason: str) -> None:
    with pytest.raises(GraphRefused, match=reason):
        Graph([Triple(subject, "p", "o")], predicate=True)


def test_a_graph_over_the_limit_is_refused_with_both_counts() -> None:
    triples = [Triple("a", "p", str(number)) for number in range(3)]
    assert len(Graph(triples, predicate=True, limit=3)) == 3
    with pytest.raises(GraphRefused, match="has 3 triples, 2 are allowed"):
        Graph(triples, predicate=True, limit=2)
