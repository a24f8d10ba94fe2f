"""Which names are found in a text, in many scripts, and in which order; `find` is compared with a naive search."""

from unicodedata import category, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.graph.linking.folding import search_key
from service.graph.linking.linker import Linker
from service.graph.linking.search import Span
from service.graph.linking.words import unlinkable
from tests.hypotheses import examples

ALPHABET = "aAbß 1\u0301é.'’中ก가İ\u00a0"
HAN_OR_THAI, HANGUL = "中ก", "가"


def linker_with(*names: str) -> Linker:
    linker = Linker()
    linker.add([(name, f"id of {name}") for name in names])
    return linker


def spans_in(text: str, *names: str) -> list[str]:
    """Return the linked stretches of the text, in order; of overlapping ones the first that is found."""
    winners: list[Span] = []
    for span in linker_with(*names).find(text):
        if all(span.end <= winner.start or winner.end <= span.start for winner in winners):
            winners.append(span)
    return [text[span.start : span.end] for span in sorted(winners)]


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("Where is Peru?", "Peru", ["Peru"]),
        ("Peru's capital", "Peru", ["Peru"]),
        ("Peruvian coffee", "Peru", []),
        ("xPeru", "Peru", []),
        ("Peru2", "Peru", []),
        ("peru PERU", "Peru", ["peru", "PERU"]),
        ("in New \n York.", "New York", ["New \n York"]),
        ("in New\u00a0York.", "new york", ["New\u00a0York"]),
        ("Côte d’Ivoire", "Côte d'Ivoire", ["Côte d’Ivoire"]),
        ("Jose\u0301", "Jose", ["Jose\u0301"]),
        ("Jose", "José", ["Jose"]),
        ("José", "Josef", []),
        ("the Vey-Orla Railway", "Vey–Orla Railway", ["Vey-Orla Railway"]),
        ("the Vey−Orla Railway", "Vey-Orla Railway", ["Vey−Orla Railway"]),
        ("Jose\u0301!", "José", ["Jose\u0301"]),
        ("GROSSE STRASSE", "Große Straße", ["GROSSE STRASSE"]),
        ("İzmir'de, İZMİR", "İzmir", ["İzmir", "İZMİR"]),
        ("İİİ ßß Peru", "Peru", ["Peru"]),
        ("ΟΔΥΣΣΕΥΣ και Οδυσσεύς", "Οδυσσευς", ["ΟΔΥΣΣΕΥΣ"]),
        ("столица ПЕРУ?", "Перу", ["ПЕРУ"]),
        ("перуанский", "Перу", []),
        ("ما عاصمة بيرو؟", "بيرو", ["بيرو"]),
        ("מהי בירת פרו?", "פרו", ["פרו"]),
        ("पेरू की राजधानी", "पेरू", ["पेरू"]),
        ("पेरू की राजधानी", "पेर", []),
        ("เมืองหลวงของประเทศไทยคือ", "ประเทศไทย", ["ประเทศไทย"]),
        ("中国的首都是哪里", "中国", ["中国"]),
        ("在Peru的首都", "Peru", ["Peru"]),
        ("日本の首都は東京です", "東京", ["東京"]),
        ("ペルーの首都", "ペルー", ["ペルー"]),
        ("서울에서 만나요", "서울", ["서울"]),
        ("Peru에서", "Peru", ["Peru"]),
        ("대한민국", "민국", []),
        ("각하", "가", []),
        ("🇵🇪🎉 Peru 🎉", "Peru", ["Peru"]),
        ("a 🎉!", "🎉", ["🎉"]),
        ("Is C++ old? C++11", "C++", ["C++", "C++"]),
        ("www.gob.pe is", ".pe", [".pe"]),
        ("www.gob.peru", ".pe", []),
        ("call +51 now", "+51", ["+51"]),
        ("call +512", "+51", []),
        ("(500) Days of Summer", "(500) Days", ["(500) Days"]),
        ("the year ๑๒", "๑", []),
        ("Peru_Lima", "Peru", ["Peru"]),
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("name_form", ["NFC", "NFD"])
def test_a_name_is_found_where_words_begin_and_end(
    text: str, name: str, expected: list[str], form: str, name_form: str
) -> None:
    written_text = normalize(form, text)  # type: ignore[arg-type]
    assert spans_in(written_text, normalize(name_form, name)) == [
        normalize(form, stretch) for stretch in expected
    ]  # type: ignore[arg-type]


def test_the_longest_name_comes_first_and_the_leftmost_among_equals() -> None:
    linker = linker_with("New York", "York", "New York City", "City Hall", "Hall")
    assert linker.find("in New York City Hall") == [
        Span(3, 16, ("id of New York City",)),
        Span(12, 21, ("id of City Hall",)),
        Span(3, 11, ("id of New York",)),
        Span(7, 11, ("id of York",)),
        Span(17, 21, ("id of Hall",)),
    ]


def test_the_leftmost_wins_among_names_of_one_length() -> None:
    assert spans_in("aa bb cc", "aa bb", "bb cc") == ["aa bb"]


def test_a_longer_name_further_right_wins() -> None:
    assert spans_in("new york city hall", "new york", "york city hall") == ["york city hall"]


def test_length_does_not_depend_on_how_the_text_is_spelt() -> None:
    linker = linker_with("éé bb", "bb cccc")
    spans = linker.find(normalize("NFD", "éé bb cccc"))
    assert [span.ids for span in spans] == [("id of bb cccc",), ("id of éé bb",)]


def test_all_entities_of_an_ambiguous_name_are_given() -> None:
    linker = Linker()
    linker.add([("Georgia", "Q1"), ("GEORGIA", "Q2"), ("Georgia", "Q1"), ("Georgia", "Q3")])
    assert linker.find("Georgia?") == [Span(0, 7, ("Q1", "Q2", "Q3"))]
    assert len(linker) == 3


@pytest.mark.parametrize("name", ["C", "é", "e\u0301", "中", "김", "x\u030c", "İ", "ǰ"])
def test_a_single_letter_is_linked_only_where_it_is_the_whole_text(name: str) -> None:
    linker = linker_with(name, name + "++")
    assert linker.find(f"is {name} old") == []
    assert linker.find(f" {name} ") == [Span(1, 1 + len(name), (f"id of {name}",))]
    assert linker.resolve(name) == (f"id of {name}",)
    assert unlinkable(name)


def test_what_can_be_linked_has_no_reason_against_it() -> None:
    assert [name for name in ("Peru", "7", "C++", "ab", "🎉", ".pe", "北京") if unlinkable(name)] == []


@pytest.mark.parametrize("name", ["", "  ", "\u00a0\t", "\u00ad", "\0"])
def test_an_empty_name_is_refused_with_all_that_came_with_it(name: str) -> None:
    linker = Linker()
    with pytest.raises(ValueError, match="empty"):
        linker.add([("Peru", "Q1"), (name, "Q2")])
    assert len(linker) == 0
    assert unlinkable(name)


def test_a_name_that_begins_with_a_mark_or_never_ends_is_only_looked_up() -> None:
    for name in ("\u0301abc", "very " * 200):
        assert unlinkable(name)
        assert linker_with(name).find(f"a {name} b") == []
        assert linker_with(name).resolve(name)


def test_an_expanded_character_is_never_cut() -> None:
    assert spans_in("ŉato", "nato") == []
    assert spans_in("ŉ ato", "ato") == ["ato"]


@pytest.mark.parametrize("text", ["", " ", "\0", "\u0301", "?", "\ud800", "\u00ad\u0301"])
def test_texts_without_words_hold_no_names(text: str) -> None:
    assert linker_with("Peru").find(text) == []


def test_invisible_characters_are_read_over() -> None:
    assert spans_in("\u200fPeru\u200f, so\u00adft\u00adware", "Peru", "software") == [
        "Peru",
        "so\u00adft\u00adware",
    ]


def test_names_are_resolved_whole() -> None:
    linker = linker_with("New York")
    assert linker.resolve(" NEW \u00a0york") == ("id of New York",)
    assert linker.resolve("York") == linker.resolve("") == ()


def test_a_name_is_resolved_with_its_accents_and_found_without() -> None:
    linker = linker_with("Peña", "Pena", "Vey–Orla")
    assert (linker.resolve("Peña"), linker.resolve("vey-orla")) == (("id of Peña",), ("id of Vey–Orla",))
    assert linker.find_alike("PENA") == linker.find("Peña?")[0].ids == ("id of Pena", "id of Peña")
    assert linker_with("Peña").resolve("Pena") == ()
    assert linker.complete("peñ", 5) == [("Pena", "id of Pena"), ("Peña", "id of Peña")]


def is_mark(char: str) -> bool:
    return category(char).startswith("M")


def base(text: str, before: int) -> str:
    """Return the character before a place, or the one that carries the marks before it."""
    chars = [char for char in text[:before] if not is_mark(char)]
    return chars[-1] if chars else ""


def is_boundary(text: str, at: int, right: bool) -> bool:
    if at in (0, len(text)):
        return True
    left_of, right_of = base(text, at), text[at]
    if is_mark(right_of):
        return False
    if any(char in HAN_OR_THAI for char in (left_of, right_of) if char):
        return True
    if right and HANGUL in (left_of, right_of):
        return True
    return not (left_of.isalnum() and right_of.isalnum())


def stands(text: str, start: int, end: int, names: set[str]) -> bool:
    part = text[start:end]
    return (
        search_key(part) in names
        and not part[0].isspace()
        and not part[-1].isspace()
        and is_boundary(text, start, right=False)
        and is_boundary(text, end, right=True)
    )


@examples(600)
@given(
    st.lists(st.text(ALPHABET, min_size=1, max_size=4), max_size=8),
    st.text(ALPHABET, max_size=14),
)
def test_every_name_that_stands_in_a_text_is_found(names: list[str], text: str) -> None:
    names = [name for name in names if not unlinkable(name)]
    linker = Linker()
    linker.add((name, "Q") for name in names)
    keys = {search_key(name) for name in names}
    expected = {
        (start, end)
        for start in range(len(text))
        for end in range(start + 1, len(text) + 1)
        if stands(text, start, end, keys)
    }
    assert {(span.start, span.end) for span in linker.find(text)} == expected


@given(
    st.lists(st.text("ab ", min_size=2, max_size=6).filter(str.strip), max_size=8),
    st.text("ab ", max_size=20),
)
def test_no_name_comes_before_a_longer_one(names: list[str], text: str) -> None:
    linker = Linker()
    linker.add((name, "Q") for name in names)
    lengths = [len(search_key(text[span.start : span.end])) for span in linker.find(text)]
    assert lengths == sorted(lengths, reverse=True)
