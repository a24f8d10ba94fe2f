"""Turtle, TriG, RDF/XML, JSON-LD and N-Quads give the rows that N-Triples of the same statements give."""

import gzip
import json
from collections.abc import Iterator
from io import BytesIO, RawIOBase

import pyoxigraph as ox
import pytest

from service.graph.formats import rdf
from service.graph.formats.reader import GraphFileReader
from service.graph.formats.row import GraphFileError, Rejection, Row
from tests.service.graph.formats.drive import read

TURTLE = """# Cities
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
wd:Q419 rdfs:label "Peru"@en , "Perú"@es ;
    wdt:P36 wd:Q2868 ;
    wdt:P1082 31000000 .
wd:Q2868 rdfs:label '''Lima'''@en .
"""
FACTS = [("Q419", "P36", "Q2868"), ("Q419", "P1082", "31000000")]
NAMES = [("Q419", "Peru"), ("Q2868", "Lima")]
NAMESPACES = {"rdfs": "http://www.w3.org/2000/01/rdf-schema#", "wdt": "http://www.wikidata.org/prop/direct/"}


def write(format: ox.RdfFormat) -> bytes:
    """Write the statements of TURTLE in another syntax."""
    triples = (
        ox.Triple(quad.subject, quad.predicate, quad.object)
        for quad in ox.parse(TURTLE, format=ox.RdfFormat.TURTLE)
    )
    data = ox.serialize(triples, format=format, prefixes=NAMESPACES)
    assert data is not None
    return data


@pytest.mark.parametrize(
    ("format", "syntax"),
    [
        ("ttl", ox.RdfFormat.TURTLE),
        ("ttl", ox.RdfFormat.TRIG),
        ("rdf", ox.RdfFormat.RDF_XML),
        ("jsonld", ox.RdfFormat.JSON_LD),
        ("nt", ox.RdfFormat.N_TRIPLES),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_syntax_is_known_by_its_content(format: str, syntax: ox.RdfFormat, packed: bool) -> None:
    data = write(syntax)
    output = read(gzip.compress(data) if packed else data)
    assert (output.format, output.facts, output.bad) == (format, FACTS, [])
    assert [(row.subject, row.object) for row in output.rows if row.kind == "label"] == NAMES
    assert output.skipped == {"other_language": 1}
    assert output.lines == 5


@pytest.mark.parametrize(
    "head",
    [
        "PREFIX e: <http://e/>\ne:Peru e:capital e:Lima .",
        "#\n# x\n\n@base <http://e/> .\n<Peru> <capital> <Lima> .",
        "<http://e/Peru> a <http://e/Country> ;\n  <http://e/capital> <http://e/Lima> .",
        "@prefix e: <http://e/> .\ne:graph { e:Peru e:capital e:Lima }",
    ],
)
def test_turtle_and_trig_are_known_by_their_beginning(head: str) -> None:
    output = read(head)
    assert output.format == "ttl"
    assert ("http://e/Peru", "capital", "http://e/Lima") in output.facts


def test_nodes_without_a_name_have_the_same_ids_at_every_reading() -> None:
    data = "@prefix e: <http://e/> .\ne:Peru e:flag [ e:colour 'red' ] , _:b0 .\n_:b0 e:colour 'white' ."
    first, second = read(data), read(data)
    assert first.facts == second.facts
    flags = [object for _, relation, object in first.facts if relation == "flag"]
    assert sorted(
        (subject, object) for subject, relation, object in first.facts if relation == "colour"
    ) == sorted(zip(flags, ("red", "white"), strict=True))


def test_a_line_of_n_quads_is_a_fact() -> None:
    output = read(
        '<http://e/Peru> <http://e/capital> "Lima" <http://e/graph> .\n<http://e/Peru> <http://e/x> .\n'
    )
    assert output.facts == [("http://e/Peru", "capital", "Lima")]
    assert output.bad == [(2, "syntax")]


def test_schema_orgs_context_is_its_vocabulary() -> None:
    page = '{"@context": "https://schema.org/", "@id": "http://e/mill", "name": "Tide Mill", "telephone": "555 01"}'
    output = read(page)
    assert output.facts == [("http://e/mill", "telephone", "555 01")]
    assert [row.object for row in output.rows if row.kind == "label"] == ["Tide Mill"]


def test_json_without_its_keywords_is_wikidatas() -> None:
    assert read('{"id": "Q1", "type": "item", "labels": {}, "claims": {}}').format == "wikidata"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("@prefix e: <http://e/> .\ne:a e:p 1 .\ne:b bad:p 2 .\n", "at line 3: .*prefix bad: has not been declared"),
        ('@prefix e: <http://e/> .\ne:a e:p "open .\n', "at line 2"),
        ('{"@context": "https://example.org/c", "@id": "http://e/a"}', "is not fetched, so write it into the file"),
        ('{"@id": "http://e/a"', "no JSON that can be read"),
        ('[{"@id": 1}, ' + "[" * 100_000, "no JSON that can be read"),
        (
            '<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY e "http://www.w3.org/1999/02/22-rdf-syntax-ns#">]>\n<rdf:RDF/>',
            "XML entities, which are not read: write it as Turtle",
        ),
        ("<!-- http://www.w3.org/1999/02/22-rdf-syntax-ns#" + "x" * 70_000 + "--><rdf:RDF/>", "have no element"),
        ('<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><a></rdf:RDF>', "cannot be read"),
    ],
)  # fmt: skip
def test_a_fault_ends_the_file_with_what_to_do(data: str, reason: str) -> None:
    with pytest.raises(GraphFileError, match=reason):
        read(data)


class Endless(RawIOBase):
    """A file of a beginning and pieces without an end; it counts its bytes."""

    def __init__(self, start: bytes, piece: bytes) -> None:
        self._start, self._rest, self._piece, self.n_bytes = start, start, piece, 0

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._rest = self._start
        return 0

    def read(self, size: int = -1) -> bytes:
        self._rest = self._rest or self._piece
        data, self._rest = self._rest[:size], self._rest[size:]
        self.n_bytes += len(data)
        return data


@pytest.mark.parametrize(
    ("format", "start", "piece"),
    [
        ("ttl", b'@prefix e: <http://e/> .\ne:a e:p """', b"x" * 500),
        ("ttl", b"# ", b"x" * 500),
        ("rdf", b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">', b"<!-- x -->"),
        ("jsonld", b'{"@context": {"e": "http://e/"}, "e:p": "', b"x" * 500),
    ],
)
def test_a_statement_without_an_end_is_given_up(format: str, start: bytes, piece: bytes) -> None:
    file = Endless(start, piece)
    with pytest.raises(GraphFileError, match="a statement has more than 2,000,000 bytes"):
        list(GraphFileReader(format).read(file))  # type: ignore[arg-type]
    assert file.n_bytes < 7_000_000


def large(n: int) -> Iterator[bytes]:
    yield b'{"@context": {"e": "http://e/"}, "@graph": ['
    for number in range(n):
        yield b'%s{"@id": "e:a%d", "e:p": "value %d"}' % (b"," * (number > 0), number, number)
    yield b"]}"


def test_large_json_ld_is_read_as_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdf, "MAX_HELD_BYTES", 1_000)
    data = b"".join(large(1_000))
    assert len(read(data).facts) == 1_000
    last = data.replace(b'"@context": {"e": "http://e/"}, ', b"")[:-1] + b', "@context": {"e": "http://e/"}}'
    with pytest.raises(GraphFileError, match="cannot be read"):
        read(last)
    monkeypatch.setattr(rdf, "MAX_HELD_BYTES", 1_000_000)
    assert len(list(GraphFileReader("jsonld").read(BytesIO(last)))) == 1_000


def results(*rows: tuple[dict[str, str] | None, ...], n_columns: int = 3) -> bytes:
    names = "spov"[:n_columns]
    bindings = [{name: term for name, term in zip(names, row, strict=True) if term} for row in rows]
    return json.dumps({"head": {"vars": list(names)}, "results": {"bindings": bindings}}).encode()


def test_results_of_sparql_as_json_are_read_as_terms() -> None:
    peru = {"type": "uri", "value": "http://www.wikidata.org/entity/Q419"}
    capital = {"type": "uri", "value": "http://www.wikidata.org/prop/direct/P36"}
    text = {"type": "literal", "xml:lang": "en", "value": "Lima"}
    number = {"type": "literal", "datatype": "http://www.w3.org/2001/XMLSchema#integer", "value": "+5"}
    file = results(
        (peru, capital, text), (peru, capital, None), (text, capital, peru), (peru, capital, number)
    )
    reader = GraphFileReader()
    first, rejection, last = reader.read(BytesIO(file))
    assert (reader.format, reader.lines, reader.skipped) == ("srj", 4, {"empty_cell": 1})
    assert isinstance(first, Row)
    assert (first.subject, first.relation, first.object) == ("Q419", "P36", "Lima")
    assert isinstance(last, Row)
    assert (last.object, last.line) == ("5", 4)
    assert rejection == Rejection(3, "the subject or the relation is a text, and not an IRI", "syntax")


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_blank_nodes_of_virtuoso_are_nodes(separators: tuple[str, str]) -> None:
    peru, founder = {"type": "uri", "value": "http://e/Peru"}, {"type": "uri", "value": "http://e/founder"}
    rows = [(peru, founder, {"type": "bnode", "value": f"nodeID://b{n}"}) for n in range(500)]
    output = read(json.dumps(json.loads(results(*rows)), separators=separators))
    assert output.facts == [("http://e/Peru", "founder", f"_:b{n}") for n in range(500)]
    cells = "s,p,o\nhttp://e/Peru,http://e/founder,nodeID://b7\n"
    assert read(cells).facts == output.facts[:1]


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (results(n_columns=2), r"2 columns are no facts: SELECT \?subject"),
        (results(n_columns=3)[:-3], "cannot be read"),
        (b'{"head": {"vars": []}, "boolean": true}', "0 columns"),
    ],
)
def test_other_results_of_sparql_are_refused(file: bytes, reason: str) -> None:
    with pytest.raises(GraphFileError, match=reason):
        list(GraphFileReader().read(BytesIO(file)))


TABLE = '''s,p,o\r
http://www.wikidata.org/entity/Q419,http://www.wikidata.org/prop/direct/P36,http://www.wikidata.org/entity/Q2868\r
http://www.wikidata.org/entity/Q419,http://www.w3.org/2000/01/rdf-schema#label,"Peru, ""the\nland"""\r
_:b0,urn:x:opened,1889-03-31T00:00:00Z\r
_:b0,urn:x:height,8.848860000000001E3\r
"http://e/a,b",urn:x:code,007\r
"http://e/a,b",urn:x:code,\r
Peru,urn:x:code,7\r
http://e/a,urn:x:code\r
http://www.wikidata.org/entity/Q419,http://www.wikidata.org/entity/Q2868,7\r
'''


@pytest.mark.parametrize("format", [None, "csv", "srcsv"])
def test_results_of_sparql_as_csv_are_read_as_terms(format: str | None) -> None:
    output = read(TABLE, format)
    assert output.format == "srcsv"
    assert output.facts == [
        ("Q419", "P36", "Q2868"),
        ("_:b0", "opened", "1889-03-31"),
        ("_:b0", "height", "8848.86"),
        ("http://e/a,b", "code", "007"),
    ]
    assert [row.object for row in output.rows if row.kind == "label"] == ['Peru, "the land"']
    assert output.skipped == {"empty_cell": 1}
    assert output.reasons == [
        "the subject or the relation is a text, and not an IRI",
        "2 columns instead of 3",
        "Q2868 stands where a relation belongs: SELECT ?subject ?relation ?object",
    ]


@pytest.mark.parametrize(
    ("rest", "reason"),
    [(b'"http://e/a', "line 3: unexpected end of data"), (b"http://e/\xe9,urn:x:p,1", "line .*utf-8")],
)
def test_results_as_csv_with_a_fault_end_the_file(rest: bytes, reason: str) -> None:
    with pytest.raises(GraphFileError, match=reason):
        read(b"s,p,o\nhttp://e/a,urn:x:p,1\n" + rest)


def test_a_table_of_facts_by_name_is_no_result() -> None:
    assert read("subject,relation,object\nhttp://e/a,capital,Lima\n").format == "csv"
