"""Gzip is known by its bytes: files of several members, files that are cut short, and bytes that only resemble gzip."""

from __future__ import annotations

import gzip
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import TooLarge
from service.graph.formats import reader as bounds
from service.graph.formats.reader import BLOCK_BYTES, open_unpacked
from service.graph.formats.row import GraphFileError
from tests.service.graph.formats.drive import read

LINES = b"".join(b"a%d\tr\to\n" % number for number in range(500))


def unpack(data: bytes) -> bytes:
    return open_unpacked(BytesIO(data)).read()


@given(st.lists(st.binary(max_size=50), max_size=5), st.integers(0, 3))
def test_members_behind_one_another_are_one_file(parts: list[bytes], padding: int) -> None:
    packed = b"".join(map(gzip.compress, [b"first", *parts])) + bytes(padding)
    assert unpack(packed) == b"".join([b"first", *parts])


@given(st.binary(max_size=50).filter(lambda data: not data.startswith(b"\x1f\x8b")))
def test_what_is_not_packed_passes_as_it_is(data: bytes) -> None:
    assert unpack(data) == data


def test_a_block_that_is_exactly_full_loses_nothing() -> None:
    for size in (BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES):
        data = b"x" * size
        assert unpack(gzip.compress(data) + gzip.compress(b"end")) == data + b"end"


def test_ten_thousand_members_are_read() -> None:
    assert len(read(gzip.compress(b"a\tr\to\n") * 10_000).rows) == 10_000


@pytest.mark.parametrize("size", [2, 5, 10, 20, 100, -9, -8, -1])
def test_a_file_that_is_cut_short_says_so(size: int) -> None:
    with pytest.raises(GraphFileError, match="cut short"):
        read(gzip.compress(LINES)[:size], "tsv")


def test_a_second_member_that_is_cut_short_says_so() -> None:
    with pytest.raises(GraphFileError, match="cut short"):
        read(gzip.compress(LINES) + gzip.compress(LINES)[:-4], "tsv")


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(LINES)[:-8] + bytes(8),
        gzip.compress(LINES) + b"garbage",
        b"\x1f\x8bnot gzip at all",
    ],
    ids=["checksum", "garbage behind it", "only the magic"],
)
def test_a_damaged_file_says_so(data: bytes) -> None:
    with pytest.raises(GraphFileError, match="damaged"):
        read(data, "tsv")


def test_a_small_file_that_unpacks_to_a_very_large_one_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "FREE_BYTES", 1_000_000)
    packed, blocks = gzip.compress(bytes(50_000_000)), list[bytes]()
    file = open_unpacked(BytesIO(packed))
    with pytest.raises(TooLarge, match="more than 100 times its bytes: send it unpacked"):
        blocks.extend(iter(lambda: file.read1(BLOCK_BYTES), b""))  # type: ignore[attr-defined]
    assert len(blocks) > 1
    assert sum(map(len, blocks)) <= 1_000_000 + 100 * len(packed) + BLOCK_BYTES
    assert unpack(gzip.compress(bytes(900_000))) == bytes(900_000)
