"""A body is measured the same however it is cut, and in a time that grows with its length alone."""

from __future__ import annotations

import json
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import ErrataError, InvalidInput, MalformedJson, TooLarge
from service.http.body_scanner import MAX_DEPTH, MAX_WIDTH, BodyScanner, Bounds

BOUNDS = Bounds(bytes=20_000_000, objects=1_000, fields=1_000, items=1_000)
VALUES = st.recursive(
    st.none() | st.integers() | st.text('a"\\{}[]:,é\n\u2028'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('b"\\:'), inner),
    max_leaves=30,
)


def count_parts(value: object) -> int:
    if isinstance(value, dict):
        return sum(1 + count_parts(item) for item in value.values())
    if isinstance(value, list):
        return max(1, len(value)) + sum(map(count_parts, value))
    return 0


@given(VALUES, st.integers(1, 9), st.booleans())
def test_the_parts_of_a_body_are_counted_wherever_it_is_cut(value: object, size: int, is_ascii: bool) -> None:
    scanner, body = BodyScanner(BOUNDS), json.dumps(value, ensure_ascii=is_ascii).encode()
    for start in range(0, len(body), size):
        scanner.feed(body[start : start + size])
    assert scanner.n_parts == count_parts(value)


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        (b"[" * (MAX_DEPTH + 1), MalformedJson, "nested more than 64 deep: send it flatter"),
        (b'{"a":' * (MAX_DEPTH + 1), MalformedJson, "nested more than 64 deep"),
        (b"{" + b'"a":1,' * (MAX_WIDTH + 1), InvalidInput, "more than 256 fields: /docs lists"),
        (b"[" + b'{"a":1,"b":2},' * 501, TooLarge, "1,000 fields: send less, in several requests"),
        (b'{"a":' + b"[]," + b"{}" * 1_001, TooLarge, "1,000 objects: send less, in several requests"),
        (b"[" + b"1," * 1_001, TooLarge, "1,000 items in lists: send less, in several requests"),
        (b"[" + b"[]," * 1_001, TooLarge, "1,000 items in lists"),
    ],
)
def test_a_bound_that_is_passed_is_named(body: bytes, kind: type[ErrataError], text: str) -> None:
    with pytest.raises(kind, match=text):
        BodyScanner(BOUNDS).feed(body)


def test_what_stands_in_a_text_is_no_structure() -> None:
    scanner = BodyScanner(BOUNDS)
    scanner.feed(json.dumps({"question": '[{":,' * 10_000 + "\\" * 1_001}).encode())
    assert scanner.n_parts == 1


@pytest.mark.parametrize("body", [b'{"a":"' + b'\\"' * 500_000, b'"' * 1_000_000, b'"' + b"\\" * 1_000_000])
def test_quotes_and_backslashes_take_no_longer_than_letters(body: bytes) -> None:
    """A string without an end is looked at once, not once for each quote in it."""
    started_at = process_time()
    BodyScanner(BOUNDS).feed(body)
    assert process_time() - started_at < 2
