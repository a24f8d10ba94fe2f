"""A lexicon finds the longest forms, keeps score and place, and says which links it gave up."""

from pathlib import Path

import pytest

from models.thu_ernie.links import InvalidLink, Lexicon, Link

LEXICON = (
    Lexicon().add("Jim", "Q1", 0.2).add("Jim Henson", "Q191037", 0.5).add("北京", "Q956").add("Café", "Q3")
)


def test_the_longest_form_wins_and_keeps_its_place_and_score() -> None:
    links, rejections = LEXICON.link("Who was (jim  HENSON)?")
    assert links == [Link("Q191037", 9, 20, 0.5)]
    assert rejections == []


def test_a_form_is_found_as_whole_words_only() -> None:
    assert LEXICON.link("Jimmy was a cafés owner") == ([], [])


def test_a_script_without_spaces_is_read_by_character() -> None:
    links, _ = LEXICON.link("我在北京。")
    assert links == [Link("Q956", 2, 4, 1.0)]


def test_a_link_below_the_threshold_is_told_with_its_score() -> None:
    links, rejections = LEXICON.link("Jim and Jim Henson", threshold=0.3)
    assert [link.entity for link in links] == ["Q191037"]
    assert [(item.link.entity, item.reason) for item in rejections] == [
        ("Q1", "its score 0.2 is not above 0.3")
    ]


def test_an_edited_lexicon_leaves_the_old_one_as_it_was() -> None:
    edited_lexicon = LEXICON.add("Jim Henson", "Q7", 0.9).remove("jim")
    assert edited_lexicon.link("Jim Henson or Jim")[0] == [Link("Q7", 0, 10, 0.9)]
    assert [link.entity for link in LEXICON.link("Jim Henson or Jim")[0]] == ["Q191037", "Q1"]


def test_the_authors_file_of_titles_is_read(tmp_path: Path) -> None:
    path = tmp_path / "entity_map.txt"
    path.write_text("Jim Henson\tQ191037\n北京\tQ956\n", encoding="utf-8")
    assert Lexicon.read(path).link("jim henson")[0] == [Link("Q191037", 0, 10, 1.0)]
    path.write_text("Jim Henson\tQ191037\nno tab\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2: write a title"):
        Lexicon.read(path)


def test_a_form_without_a_word_is_refused() -> None:
    with pytest.raises(ValueError, match="has no word"):
        LEXICON.add("  ", "Q1")


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
