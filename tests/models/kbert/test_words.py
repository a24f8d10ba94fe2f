"""Longest match: names first, then units; nothing but whitespace is lost."""

from hypothesis import given
from hypothesis import strategies as st

from models.kbert import LongestMatch
from models.kbert.words import given as words_of


def cut(segmenter: LongestMatch, text: str) -> list[str]:
    return [word.text for word in segmenter(text)]


def test_the_longest_name_wins_and_the_rest_is_characters() -> None:
    assert cut(LongestMatch(["北京", "北京大学", "大学生"]), "在北京大学生") == ["在", "北京大学", "生"]


def test_names_come_and_go_between_texts() -> None:
    segmenter = LongestMatch(["ab"])
    segmenter.add("abc")
    segmenter.add("abc")
    assert cut(segmenter, "abcd") == ["abc", "d"]
    segmenter.remove("abc")
    segmenter.remove("never there")
    assert cut(segmenter, "abcd") == ["ab", "c", "d"]


def test_words_are_whole_where_word_pieces_follow() -> None:
    segmenter = LongestMatch(["New York", "art", "U.S."], "word")
    text = "New York's art, party_art in the U.S. costs €5 nai\u0308f"
    expected = ["New York", "'", "s", "art", ",", "party", "_", "art", "in", "the", "U.S.", "costs", "€5"]
    assert cut(segmenter, text) == [*expected, "nai\u0308f"]
    assert cut(segmenter, "New Yorkers") == ["New", "Yorkers"], "a name ends where a word does"


def test_words_that_were_segmented_before_keep_their_order_and_tags() -> None:
    words = words_of(["[CLS]", "ab", "c"])
    assert [(word.text, word.tag, list(word.places)) for word in words[1:]] == [
        ("ab", False, [5, 6]),
        ("c", False, [7]),
    ]
    assert words[0].tag


@given(st.text("ab c\u3000[]SEP.", max_size=20), st.sampled_from(["character", "word"]), st.booleans())
def test_every_word_knows_its_places_and_nothing_but_whitespace_is_lost(
    text: str, unit: str, inline: bool
) -> None:
    words = LongestMatch(["a b", "ab", "b c"], unit, inline)(text)  # type: ignore[arg-type]
    for word in words:
        assert word.text == "".join(text[place] for place in word.places)
    places = [place for word in words for place in word.places]
    assert places == sorted(set(places))
    assert all(text[place].isspace() for place in set(range(len(text))) - set(places))
