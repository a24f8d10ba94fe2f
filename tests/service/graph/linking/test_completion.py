"""Entity search: names by the beginning of one of their words, the best first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.graph.linking import name_index
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
