"""Names by their beginnings, folded, and misspelt."""

import re
import sys
from unicodedata import category, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.graph.linking import name_index
from service.graph.linking.characters import JOINS
from service.graph.linking.folding import fold, fold_text, search_key
from service.graph.linking.linker import Linker


def linker_with(*names: str) -> Linker:
    linker = Linker()
    linker.add([(name, f"Q{i}") for i, name in enumerate(names)])
    return linker


def test_the_exact_name_comes_first_then_the_shortest_then_by_the_alphabet() -> None:
    names = ["New Peru", "Peruvia", "Peru", "Peruana", "Superu"]
    assert [name for name, _ in linker_with(*names).complete("PERU", 10)] == [
        "Peru",
        "Peruana",
        "Peruvia",
        "New Peru",
    ]


def test_the_name_is_given_as_it_was_written_with_its_entity() -> None:
    assert linker_with("Côte d’Ivoire").complete("cote\u0302 d".replace("cote\u0302", "co\u0302te"), 1) == [
        ("Côte d’Ivoire", "Q0")
    ]


def test_each_entity_of_a_name_is_offered() -> None:
    assert linker_with("Georgia", "GEORGIA").complete("geo", 5) == [("GEORGIA", "Q1"), ("Georgia", "Q0")]


@pytest.mark.parametrize(("prefix", "limit"), [("", 5), (" ", 5), ("x", 5), ("Peru", 0), ("\0", 5)])
def test_there_is_nothing_to_offer(prefix: str, limit: int) -> None:
    assert linker_with("Peru").complete(prefix, limit) == []


def test_names_that_agree_for_long_are_told_apart() -> None:
    long = "a" * 600
    linker = linker_with(*(long + chr(97 + i) for i in range(20)))
    linker.add_many([(f"word {i}", "w") for i in range(2000)])
    assert linker.complete(long + "c", 5) == [(long + "c", "Q2")]
    assert len(linker.complete(long, 5)) == 5


def _plain(names: list[str], prefix: str, limit: int) -> list[str]:
    matches = {name for name in names if any(word.startswith(prefix) for word in _from_each_word(name))}
    return sorted(matches, key=lambda name: (len(name), name))[:limit]


def _from_each_word(name: str) -> list[str]:
    parts = name.split(" ")
    return [" ".join(parts[i:]) for i in range(len(parts))]


@given(
    st.sets(
        st.lists(st.text("aéb中", min_size=1, max_size=3), min_size=1, max_size=3).map(" ".join), max_size=60
    ),
    st.text("aéb", min_size=1, max_size=3),
    st.integers(1, 5),
    st.sampled_from([1, 7, 1000]),
)
def test_runs_and_recent_names_give_what_a_plain_scan_gives(
    names: set[str], prefix: str, limit: int, recent: int
) -> None:
    plain = [name for name in names if "中" not in name]  # its words begin everywhere
    linker = Linker()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(name_index, "MAX_RECENT", recent)
        for i in range(0, len(plain), 3):
            linker.add([(name, "Q") for name in plain[i : i + 3]])
    assert [name for name, _ in linker.complete(prefix, limit)] == _plain(plain, prefix, limit)


def test_scripts_without_spaces_are_completed_from_each_character() -> None:
    assert linker_with("中华人民共和国").complete("共和", 3) == [("中华人民共和国", "Q0")]


ODD = "–−aAßẞİıſςΣé\u0301e\u0327ŉﬁᾳǰ \u00a0\t\n\u3000’'ʼ\u00ad\u200e\0각\u1100\u1161\u11a8一한.\u0345"


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Perú", "PERU\u0301"),
        ("Straße", "STRASSE"),
        ("ΟΔΟΣ", "οδος"),
        ("New\u00a0 York", " new york "),
        ("Côte d’Ivoire", "cote\u0302 d'ivoire".replace("cote\u0302", "co\u0302te")),
        ("서울", normalize("NFD", "서울")),
        ("İzmir", "I\u0307ZMIR"),
        ("soft\u00adware", "software"),
        ("İZMİR", "izmir"),
        ("❤\ufe0f", "❤"),
    ],
)
def test_spellings_of_one_name_fold_to_the_same(name: str, other: str) -> None:
    assert fold(name) == fold(other)


@pytest.mark.parametrize("pair", [("Peru", "Perú"), ("New York", "NewYork"), ("C", "C+"), ("ılık", "ilik")])
def test_different_names_stay_different(pair: tuple[str, str]) -> None:
    assert fold(pair[0]) != fold(pair[1])


def test_where_nothing_changes_length_there_is_no_map() -> None:
    assert fold_text("What is PERÚ’s capital?").starts == ()
    assert fold_text("ß").starts == [0, 0]


@given(st.one_of(st.text(alphabet=ODD), st.text()))
def test_a_text_folds_as_a_name_does(text: str) -> None:
    assert fold_text(text).text.strip(" ") == search_key(text)


@given(st.text(alphabet=ODD))
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert search_key(search_key(text)) == search_key(fold(text)) == search_key(text)


@given(st.text(alphabet=ODD))
def test_each_folded_character_comes_from_where_the_map_says(text: str) -> None:
    folding = fold_text(text)
    for i, char in enumerate(folding.text):
        start, end = folding.original(i, i + 1)
        assert char == " " or char in search_key(text[start:end])


def test_every_character_folds_by_itself() -> None:
    """The map of places holds only if no character changes with the one before it, except those that join it."""
    joins, all_characters = re.compile(f"[{JOINS}]"), [*map(chr, range(0x80, sys.maxunicode + 1))]
    without_meaning = "a".join(char for char in all_characters if category(char) == "Cn")
    assert fold(without_meaning) == without_meaning
    for char in (char for char in all_characters if category(char) != "Cn"):
        assert joins.match(char) or fold("a" + char + "b") in (f"a{fold(char)}b", "a b")


COMMON = {"what", "is", "the", "capital", "of", "chile", "wooden", "who", "founded"}
NAMES = (
    "Microsoft",
    "New Zealand",
    "Audio Interchange File",
    "Woodend",
    "Peru",
    "Chile",
    "Müller",
    "Falcon 9",
)


def find(text: str) -> list[tuple[str, str]]:
    """Return what is written, and the name that may be meant."""
    linker = Linker()
    linker.add([(name, f"id of {name}") for name in NAMES])
    return [(text[slip.start : slip.end], slip.name) for slip in linker.find_slips(text, COMMON.__contains__)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Who founded Micosoft?", [("Micosoft", "microsoft")]),
        ("Micorsoft's capital", [("Micorsoft", "microsoft")]),
        ("What is the capital of New Zeeland?", [("New Zeeland", "new zealand")]),
        ("Nwe Zealand", []),
        ("AUDIO  INTERCHNAGE FILE", [("AUDIO  INTERCHNAGE FILE", "audio interchange file")]),
        ("Who founded Müllerr?", [("Müllerr", "muller")]),
        ("Who founded Falcn 9?", [("Falcn 9", "falcon 9")]),
    ],
)
def test_a_name_with_one_slip_is_found_whole(text: str, expected: list[tuple[str, str]]) -> None:
    assert find(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Who founded Microsoft?",
        "What is the capital of New Zealand?",
        "What is wooden?",  # a common word, and nearly Woodend
        "Who founded Falcon 8?",
        "Who founded Tallwater?",
        "What is the capital of Chhile?",  # Chile is too short
        "Who founded Mikrosofft?",
        "",
    ],
)
def test_right_names_common_words_and_unknown_names_are_no_slips(text: str) -> None:
    assert find(text) == []
