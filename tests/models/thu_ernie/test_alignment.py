"""A mention is put on its first token, wherever it is, and links that no token carries are reported."""

from models.thu_ernie.alignment import NO_TOKEN, NO_WORD, Vocabulary
from models.thu_ernie.links import Link

HENSON = Link("Q191037", 9, 19, 0.5)


def test_a_mention_behind_a_bracket_is_on_its_first_token(vocabulary: Vocabulary) -> None:
    """The specification's example: the authors look for it at the word's start, which is the bracket."""
    text = "Who was (Jim Henson)?"
    result, authors = vocabulary.align(text, [HENSON]), vocabulary.align(text, [HENSON], "authors")
    assert {result.pieces[place].text: link for place, link in result.links.items()} == {"jim": HENSON}
    assert authors.links == {}
    assert [item.reason for item in authors.rejections] == [NO_WORD]


def test_a_script_without_spaces_is_split_by_character(vocabulary: Vocabulary) -> None:
    result = vocabulary.align("a北京jim", [Link("Q956", 1, 3, 1.0), Link("Q1", 3, 6, 1.0)])
    assert [piece.text for piece in result.pieces] == ["a", "北", "京", "jim"]
    assert {place: link.entity for place, link in result.links.items()} == {1: "Q956", 3: "Q1"}


def test_a_mention_without_a_token_is_told(vocabulary: Vocabulary) -> None:
    result = vocabulary.align("jim henson", [Link("Q1", 1, 3, 1.0)])
    assert result.links == {}
    assert [item.reason for item in result.rejections] == [NO_TOKEN]
