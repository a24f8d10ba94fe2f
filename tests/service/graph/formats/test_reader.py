"""The reader as a whole: packed or not, the same rows come out, and little memory is used."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from contextlib import suppress
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import TooLarge
from service.graph.formats.reader import GraphFileReader
from service.graph.formats.row import GraphFileError
from tests.service.graph.formats.drive import read

FILES = {
    "tsv": "\ufeffFrance\tcapital\tParis\r\n\n東京\tin\t日本\nbad\n\xa0\tr\to\nlast\tr\to".encode() + b"\n\xff\tr\to",
    "csv": '\ufeffsubject,relation,object\r\na,r,"x\r\ny"\nb,r,"o"x\nc,r,é\n"d, e",r,f\nbad\n'.encode() + b"\xff,r,o",
    "nt": '# c\n\n_:a <http://a/p> "é"@en .\r\nbad\n_:a <http://a/p> "x"@de .\n_:b <http://a/p> _:c .'.encode(),
    "wikidata": b'[\r\n{"id":"Q1","labels":{"en":{"value":"\xc3\xa9"}}},\nbad,\n{"id":"Q2","missing":""}\n]',
}  # fmt: skip
MIB = 1 << 20


@pytest.mark.parametrize("format", FILES)
@pytest.mark.parametrize("packed", [False, True])
def test_a_packed_file_and_one_whose_format_is_found_have_the_same_rows(format: str, packed: bool) -> None:
    data = FILES[format]
    whole = read(data, format)
    assert read(gzip.compress(data) if packed else data) == whole
    assert whole.rows
    assert whole.bad


@given(st.binary(max_size=200), st.sampled_from([None, *FILES]))
def test_any_bytes_give_rows_rejections_or_one_error_and_never_anything_else(
    data: bytes, format: str | None
) -> None:
    with suppress(GraphFileError):
        read(data, format)


@pytest.mark.parametrize("format", FILES)
@given(places=st.lists(st.integers(0, 2**16), min_size=1, max_size=5), byte=st.integers(0, 255))
def test_a_damaged_file_gives_rows_rejections_or_one_error(format: str, places: list[int], byte: int) -> None:
    data = bytearray(FILES[format])
    for place in places:
        data[place % len(data)] = byte
    try:
        output = read(bytes(data), format)
    except GraphFileError:
        return
    assert all("\n" not in reason and len(reason) < 400 for reason in output.reasons)


def test_a_format_nobody_knows_is_refused_with_the_ones_there_are() -> None:
    with pytest.raises(GraphFileError, match="no format 'xml': choose one of tsv, csv, xlsx, nt, wikidata"):
        GraphFileReader("xml")


def pack_zeros(n_mib: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(bytes(MIB)) for _ in range(n_mib)) + packer.flush()


def test_ninety_megabytes_of_zeros_are_one_line_too_long_and_are_never_held() -> None:
    bomb = pack_zeros(90)
    reader = GraphFileReader("nt")
    tracemalloc.start()
    results = list(reader.read(BytesIO(bomb)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(result.line, result[2]) for result in results] == [(1, "too_long")]
    assert peak < 8 * MIB


def test_two_hundred_megabytes_of_zeros_are_refused_and_never_held() -> None:
    bomb = pack_zeros(200)
    reader = GraphFileReader("nt")
    tracemalloc.start()
    with pytest.raises(TooLarge, match="more than 100 times"):
        list(reader.read(BytesIO(bomb)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * MIB


def test_many_rows_out_of_few_bytes_are_handed_out_one_by_one() -> None:
    bomb = gzip.compress(b"a\tb\tc\n" * 100_000)
    reader = GraphFileReader("tsv")
    tracemalloc.start()
    count = sum(1 for _ in reader.read(BytesIO(bomb)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 100_000
    assert peak < 2 * MIB


def test_empty_lines_without_end_are_not_held_before_the_format_is_known() -> None:
    tracemalloc.start()
    output = read(b"\n" * 1_000_000 + b"a\tb\tc")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [row.line for row in output.rows] == [1_000_001]
    assert peak < 24 * MIB


def test_a_row_can_be_stored_as_json() -> None:
    row = read(FILES["tsv"]).rows[0]
    assert json.loads(json.dumps(row)) == ["fact", "France", "capital", "Paris", "", 1, False, [], False]
