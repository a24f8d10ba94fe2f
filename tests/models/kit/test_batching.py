"""Rows of similar lengths share a group, and values that recur are computed once."""

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from models.kit.batching import Cache, by_length


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(1, 60), st.integers(1, 6))
def test_every_row_is_in_one_group_within_its_bounds(lengths: list[int], budget: int, max_rows: int) -> None:
    groups = by_length(lengths, budget, max_rows)
    assert sorted(place for group in groups for place in group) == list(range(len(lengths)))
    for group in groups:
        assert len(group) <= max_rows
        assert len(group) == 1 or len(group) * max(lengths[place] for place in group) <= budget
    flat = [lengths[place] for group in groups for place in group]
    assert flat == sorted(flat)


def test_a_group_is_filled_before_the_next_begins() -> None:
    assert by_length([5, 1, 1, 4], budget=10) == [[1, 2], [3, 0]]


def test_values_are_computed_once_and_the_least_recently_used_leave_the_cache() -> None:
    reads: list[str] = []

    def compute(keys: list[str]) -> list[int]:
        reads.extend(keys)
        return [len(key) for key in keys]

    cache: Cache[str, int] = Cache(2)
    for keys in (["a", "bb", "a"], ["bb", "c"], ["a"]):
        assert cache.of(keys, compute) == {key: len(key) for key in keys}
    assert reads == ["a", "bb", "c", "a"]


def test_threads_share_a_cache() -> None:
    cache: Cache[int, int] = Cache(50)

    def ask(start: int) -> bool:
        keys = [number % 80 for number in range(start, start + 40)]
        return cache.of(keys, lambda new: [key * key for key in new]) == {key: key * key for key in keys}

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(400)))
