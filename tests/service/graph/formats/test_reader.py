"""The reader of files of any format: which it is, gzip, and the spool of an upload."""

import bz2
import gzip
import json
import lzma
import tracemalloc
import zlib
from collections import deque
from contextlib import suppress
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import TooLarge
from service.graph.formats import lines as bounds
from service.graph.formats.lines import BLOCK_BYTES, open_unpacked
from service.graph.formats.reader import GraphFileReader
from service.graph.formats.row import GraphFileError
from service.graph.imports.spool import LINES_PER_WRITE, Spool, SpooledRow
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
    with pytest.raises(
        GraphFileError,
        match="no format 'xml': choose one of tsv, csv, xlsx, nt, nq, ttl, rdf, jsonld, srj, srcsv, wikidata",
    ):
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
    assert json.loads(json.dumps(row)) == [
        "fact",
        "France",
        "capital",
        "Paris",
        "",
        1,
        False,
        [],
        "",
        [],
        "",
    ]


@pytest.mark.parametrize(
    ("data", "format"),
    [
        ("France\tcapital\tParis\n", "tsv"),
        ("[1]Naphtha\tr\to\n", "tsv"),
        ("# 1 fan\tof\tmany\n", "tsv"),
        ("# made by hand\nFrance\tcapital\tParis\n", "tsv"),
        ("a, b and c\tr\tsubject\n", "tsv"),
        ("subject,relation,object\na,b,c\n", "csv"),
        ('\ufeff"Object","Subject","Predicate"\r\n', "csv"),
        ("note,subject,relation,object,tab\there\n", "csv"),
        ('<http://a/s> <http://a/p> "x" .\n', "nt"),
        ('<http://a/s>\t<http://a/p>\t"x" .\n', "nt"),
        ("_:b0 <http://a/p> _:b1 .\n", "nt"),
        ("# only\n# comments\n", "nt"),
        ("\n \n\t\n# c\n_:b0 <http://a/p> _:b1 .\n", "nt"),
        ("[\n", "wikidata"),
        ("[\r\n{}\n]", "wikidata"),
        ("[]", "wikidata"),
        ('{"id": "Q1"}', "wikidata"),
        ('[{"id": "Q1"},\n', "wikidata"),
    ],
)
def test_the_first_line_that_says_something_tells_the_format(data: str, format: str) -> None:
    assert read(data).format == format
    assert read(gzip.compress(data.encode())).format == format


def test_comments_before_a_file_of_facts_are_rejected_like_any_other_line() -> None:
    output = read("# made by hand\nFrance\tcapital\tParis\n")
    assert (output.bad, len(output.rows)) == ([(1, "columns")], 1)


@pytest.mark.parametrize(
    "data",
    [
        "hello\n",
        "a,b,c\n",
        "a\tb\n",
        "<html>\n",
        "<?xml version='1.0'?>\n",
        "<html><p>Peru</p></html>\n",
        "\0" * 1000,
        "a\tb\tc\td",
    ],
)
def test_what_is_none_of_the_four_is_refused_with_its_first_line(data: str) -> None:
    with pytest.raises(GraphFileError, match=r"the first line, '.*', does not show the format: name it"):
        read(data)


@pytest.mark.parametrize("data", [b"", b"\n\n \r\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_said_to_be_empty(data: bytes) -> None:
    with pytest.raises(GraphFileError, match="the file is empty"):
        read(data)


@pytest.mark.parametrize("format", [None, "tsv", "csv", "nt", "wikidata"])
@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("a\tb\tc\n".encode("utf-16"), "UTF-16"),
        (b"\xfe\xff" + "a\tb\tc\n".encode("utf-16-be"), "UTF-16"),
        (b"PK\x03\x04rest", "Excel workbook"),
        (bz2.compress(b"a\tb\tc\n"), "bzip2"),
        (lzma.compress(b"a\tb\tc\n"), "xz"),
        (gzip.compress(gzip.compress(b"a\tb\tc\n", mtime=0), mtime=0), "gzip twice"),
    ],
)
def test_a_file_of_another_kind_is_named(data: bytes, kind: str, format: str | None) -> None:
    with pytest.raises(GraphFileError, match=kind):
        read(data, format)


def test_a_first_line_without_end_is_refused() -> None:
    with pytest.raises(GraphFileError, match="the first line is too long"):
        read(b"x" * 17_000_000)


def test_a_first_line_longer_than_its_format_allows_is_rejected() -> None:
    output = read(b"a\tb\t" + b"c" * 2_000_000 + b"\na\tb\tc\n")
    assert (output.format, output.bad, len(output.rows)) == ("tsv", [(1, "too_long")], 1)


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


ROW: SpooledRow = ("Q1", "r", "x" * 90, "", "add")


def test_rows_beyond_the_bound_are_refused() -> None:
    rows = Spool(10 * LINES_PER_WRITE * 100)
    with pytest.raises(TooLarge, match="import the file in several parts"):
        deque(map(rows.add, [ROW] * 11 * LINES_PER_WRITE))
    assert rows.rows <= 10 * LINES_PER_WRITE
    rows.close()
