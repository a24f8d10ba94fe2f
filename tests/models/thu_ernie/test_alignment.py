"""A mention is put on its first token, wherever it is, and links that no token carries are reported."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.kit.checkpoint import CheckpointError
from models.thu_ernie.row import NO_TOKEN, OVERLAP, InvalidLink, Link, Vocabulary
from tests.parity.ernie_words import NO_WORD, align_as_authors, clean

HENSON = Link("Q191037", 9, 19, 0.5)


def test_a_mention_behind_a_bracket_is_on_its_first_token(vocabulary: Vocabulary) -> None:
    """The specification's example: the authors look for it at the word's start, which is the bracket."""
    text = "Who was (Jim Henson)?"
    result, authors = vocabulary.align(text, [HENSON]), align_as_authors(text, [HENSON], vocabulary)
    assert {result.pieces[place].text: link for place, link in result.links.items()} == {"jim": HENSON}
    assert authors.links == {}
    assert [item.reason for item in authors.rejections] == [NO_WORD]


def test_a_script_without_spaces_is_split_by_character(vocabulary: Vocabulary) -> None:
    result = vocabulary.align("a北京jim", [Link("Q956", 1, 3, 1.0), Link("Q1", 3, 6, 1.0)])
    assert [piece.text for piece in result.pieces] == ["a", "北", "京", "jim"]
    assert {place: link.entity for place, link in result.links.items()} == {1: "Q956", 3: "Q1"}


def test_of_mentions_that_overlap_the_longest_and_then_the_surest_wins(vocabulary: Vocabulary) -> None:
    links = [
        Link("short", 0, 3, 0.9),
        Link("long", 0, 10, 0.1),
        Link("weak", 11, 14, 0.1),
        Link("sure", 11, 14, 0.2),
    ]
    result = vocabulary.align("jim henson was", links)
    assert {link.entity for link in result.links.values()} == {"long", "sure"}
    assert {item.link.entity: item.reason for item in result.rejections} == {
        "short": OVERLAP,
        "weak": OVERLAP,
    }


def test_a_word_that_vanishes_shifts_no_mention(vocabulary: Vocabulary) -> None:
    """A lone accent is no token; the authors' code puts every later entity on the next word."""
    text = "who \u0301 jim henson"
    links = [Link("Q1", 6, 9, 1.0)]
    for result in (vocabulary.align(text, links), align_as_authors(text, links, vocabulary)):
        assert {result.pieces[place].text for place in result.links} == {"jim"}


def test_a_mention_without_a_token_is_told(vocabulary: Vocabulary) -> None:
    result = vocabulary.align("jim henson", [Link("Q1", 1, 3, 1.0)])
    assert result.links == {}
    assert [item.reason for item in result.rejections] == [NO_TOKEN]


def test_a_special_token_in_a_text_is_text(vocabulary: Vocabulary) -> None:
    pieces = vocabulary.align("[MASK]", []).pieces
    assert [piece.text for piece in pieces] == ["[", "mask", "]"]


def test_a_link_outside_the_text_is_refused(vocabulary: Vocabulary) -> None:
    with pytest.raises(InvalidLink, match="Q1 marks characters 0 to 4, and the text has 3"):
        vocabulary.align("jim", [Link("Q1", 0, 4, 1.0)])


@given(st.text(alphabet="jim \x00\u200b\t(\ufffd\u00e9京", max_size=12), st.integers(-2, 14))
def test_cleaning_moves_a_place_with_its_character(text: str, place: int) -> None:
    clean_text, (link,) = clean(text, [Link("Q1", place, place + 1, 1.0)])
    assert not set(clean_text) & set("\x00\u200b\t\ufffd")
    if 0 <= place < len(text) and text[place] in "jim(京\u00e9":
        assert clean_text[link.begin] == text[place]


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        (Link("Q1", -1, 2, 1.0), "Q1 marks characters -1 to 2"),
        (Link("Q1", 2, 2, 1.0), "2 to 2"),
        (Link("Q1", 0, 9, 1.0), "the text has 4"),
        (Link("Q1", 0, 2, float("nan")), "score nan"),
    ],
)
def test_a_link_that_marks_nothing_is_refused(link: Link, sentence: str) -> None:
    with pytest.raises(InvalidLink, match=sentence):
        link.check("text")


def test_a_vocabulary_without_the_special_tokens_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"lacks \[UNK\]"):
        Vocabulary(("[PAD]", "jim"), lowercase=True)
