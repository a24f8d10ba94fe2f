"""The parts of a body are counted the same however it is cut, and in a time that grows with its length alone."""

from __future__ import annotations

import json
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import TooLarge
from service.http.body import SLICE_BYTES, PartCounter

LIMIT = 16_000
VALUES = st.recursive(
    st.none() | st.integers() | st.text('a"\\{}[]:,é\n\u2028'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('b"\\:'), inner),
    max_leaves=30,
)


def count_parts(value: object) -> int:
    """Count texts, colons, commas and opening brackets."""
    if isinstance(value, dict):
        return 1 + 2 * len(value) + max(0, len(value) - 1) + sum(map(count_parts, value.values()))
    if isinstance(value, list):
        return 1 + max(0, len(value) - 1) + sum(map(count_parts, value))
    return int(isinstance(value, str))


@given(VALUES, st.integers(1, 9), st.booleans())
def test_the_parts_of_a_body_are_counted_wherever_it_is_cut(value: object, size: int, is_ascii: bool) -> None:
    counter, body = PartCounter(LIMIT), json.dumps(value, ensure_ascii=is_ascii).encode()
    for start in range(0, len(body), size):
        counter.add(body[start : start + size])
    assert counter.n_parts == count_parts(value)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":"' + b'\\"' * 500_000,
        b'"' * 1_000_000,
        b'"' + b"\\" * 1_000_000,
        b"]" * 999_000,
        b"," * 999_000,
        b'""' * 499_500,
        b"}" * 999_000,
    ],
)
def test_no_body_of_a_megabyte_holds_the_event_loop(body: bytes) -> None:
    """Closing brackets, commas and texts cost no more than letters; a text without an end is read once."""
    assert (
        min(slowest_slice_s(body) for _ in range(3)) < 0.005
    )  # a garbage collection may fall into one of them


def slowest_slice_s(body: bytes) -> float:
    """Return the longest time that this thread computes for a slice."""
    counter, slowest_s = PartCounter(LIMIT), 0.0
    for start in range(0, len(body), SLICE_BYTES):
        started_at = thread_time()
        try:
            counter.add(body[start : start + SLICE_BYTES])
        except TooLarge:
            break
        finally:
            slowest_s = max(slowest_s, thread_time() - started_at)
    return slowest_s
