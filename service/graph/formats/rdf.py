"""Facts and names from Turtle, TriG, RDF/XML, JSON-LD and SPARQL's results as JSON, which Oxigraph parses as streams.

SPARQL's results as CSV (W3C, SPARQL 1.1 Query Results CSV and TSV Formats) have no marks of IRIs, types and languages:
what looks like an IRI or like a blank node is one.

A statement may take many lines, and what follows a fault cannot be told apart surely. So a fault ends the file.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from io import BytesIO, RawIOBase, TextIOWrapper
from typing import Any, BinaryIO, TypeAlias, cast

import pyoxigraph as ox

from service.graph.formats.cleaning import excerpt
from service.graph.formats.ntriples import Node, NTriplesReader
from service.graph.formats.row import GraphFileError, Refused, Result, Skipped
from service.graph.formats.sparql_tsv import RESULT_COLUMNS, WRONG_RESULTS, check_cells
from service.graph.formats.xsd import XSD

RESULTS_TABLE = "srcsv"
SYNTAXES: dict[str, ox.RdfFormat | ox.QueryResultsFormat] = {
    "ttl": ox.RdfFormat.TRIG,  # every Turtle document is one of TriG
    "rdf": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
    "srj": ox.QueryResultsFormat.JSON,
    RESULTS_TABLE: ox.QueryResultsFormat.CSV,
}
HEAD_BYTES = 1 << 16  # bytes of the beginning, in which a syntax shows itself
MAX_STATEMENT_BYTES = 2_000_000
MAX_BLANK_NODES = 1_000_000
MAX_HELD_BYTES = 4_000_000  # JSON-LD in any order of its keys is held in memory, at 24 times its size
SCHEMA = {"https://schema.org", "http://schema.org", "https://schema.org/", "http://schema.org/"}
COMMENTS = re.compile(rb"(?:\s+|#[^\n]*(?:\n|$))*")
TURTLE = re.compile(
    rb"@prefix\b|@base\b|prefix\s+[\w.-]*:|base\s*<|(?:<[^<>\s]*>)[^\n]*[;,]\s*(?:#.*)?\n", re.I
)
XML = re.compile(rb"<\?xml\b|<!--|<!DOCTYPE\b|<(?:[\w.-]+:)?RDF[\s>]")
NAMESPACE = b"http://www.w3.org/1999/02/22-rdf-syntax-ns#"  # that of an RDF/XML file, and of no other XML
JSON = re.compile(rb"[\[{]")
# A header of three variables, and a record that begins with two IRIs
TABLE = re.compile(rb'(?:"?\w+"?,){2}"?\w+"?\r?\n\s*"?(?:_:\w|https?://|urn:)[^\s"]*"?,"?(?:https?://|urn:)')
NODE = re.compile(r"(?:_:|nodeID://)(\w\S*)|(?:https?://|urn:)\S+")
# Values that have several spellings, as SPARQL's services write them
LEXICAL_FORMS = {
    "dateTime": re.compile(r"-?\d{4,12}-\d\d-\d\dT\d\d:\d\d:\d\d\S*", re.ASCII),
    "double": re.compile(r"-?\d\.\d+[eE][+-]?\d+", re.ASCII),
}
# A cell of results that is a blank node, and its name: Virtuoso's nodeID://b1 has characters that no name has
BLANK_NODE = re.compile(rb'\{[^{}]*"bnode"[^{}]*\}')
VALUE = re.compile(rb'(?<="value":")[^"]*|(?<="value": ")[^"]*')
RESULTS = re.compile(rb'"head"\s*:\s*\{[^{}]*"vars"\s*:')
STATEMENT_END = re.compile(rb"\.[ \t]*(?:#[^\n]*)?\r?\n")
KEYWORD = re.compile(rb'"@(?:context|id|graph|type)"\s*:')
ENTITY = re.compile(rb"<!ENTITY\b", re.I)
ROOT = re.compile(rb"<[A-Za-z_]")
Statement: TypeAlias = ox.Quad | ox.QuerySolution | list[str]


def find_syntax(head: bytes) -> str | None:
    """Return the name in SYNTAXES of a file that begins so, or None for another format."""
    bare = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if XML.match(bare):
        return "rdf" if NAMESPACE in bare else None
    if TABLE.match(bare):
        return RESULTS_TABLE
    if JSON.match(bare):
        return "srj" if RESULTS.search(bare) else "jsonld" if KEYWORD.search(bare) else None
    start = COMMENTS.match(bare)
    body = bare[start.end() :] if start else bare
    return "ttl" if TURTLE.match(body) or is_turtle(body) else None


def is_turtle(body: bytes) -> bool:
    """Return whether whole statements of Turtle begin a file whose first line is none of N-Quads."""
    line = body.partition(b"\n")[0]
    if not line.startswith((b"<", b"_:")) or _can_be_parsed(line, ox.RdfFormat.N_QUADS):
        return False
    # The beginning of a file may end within a statement
    ends = [end.end() for end in STATEMENT_END.finditer(body)]
    return any(_can_be_parsed(body[:end], ox.RdfFormat.TRIG) for end in (None, *ends[-1:]))


def _can_be_parsed(data: bytes, syntax: ox.RdfFormat) -> bool:
    try:
        return any(list(ox.parse(data, format=syntax)))
    except SyntaxError:
        return False


class RdfReader(NTriplesReader):
    """Reads one of SYNTAXES; the line of a row is its number among all statements.

    Attributes:
        count: Number of statements so far.
    """

    def __init__(self, language: str, format: str) -> None:
        super().__init__(language)
        self.format, self.count = format, 0
        self._blank_nodes: dict[str, ox.BlankNode] = {}  # Oxigraph's name -> ours

    def read_file(self, file: BinaryIO) -> Iterator[Result]:
        """Yield the rows of a file.

        Raises:
            GraphFileError: It has a fault, XML entities, a remote context, or a statement that is too long.
        """
        source = _Source(file, has_cells=self.format == "srj")
        try:
            for statement in self.parse(source):
                self.count, source.n_bytes = self.count + 1, 0
                try:
                    yield self._row(to_quad(statement), self.count)
                except Skipped as skipped:
                    self.skipped[skipped.why] += 1
                except Refused as refused:
                    yield refused.at(self.count)
        except SyntaxError as error:
            hint = ": a @context at an address is not fetched, so write it into the file" * (
                self.format == "jsonld"
            )
            place = f" at line {error.lineno}" if error.lineno else ""
            raise GraphFileError(
                f"the file cannot be read{place}: {excerpt(str(error.msg))}{hint}"
            ) from error

    def node_id(self, field: str, node: Node) -> str:
        """Return the id of a node; those without a name are numbered, so that a file always gives the same ids."""
        if isinstance(node, ox.BlankNode):
            if len(self._blank_nodes) >= MAX_BLANK_NODES:
                raise GraphFileError(
                    f"the file has more than {MAX_BLANK_NODES:,} nodes without a name: divide it"
                )
            number = len(self._blank_nodes)
            node = self._blank_nodes.setdefault(node.value, ox.BlankNode(f"b{number}"))
        return super().node_id(field, node)

    def parse(self, source: _Source) -> Iterator[Statement]:
        """Yield the statements of a file; raise GraphFileError for XML entities."""
        head = source.peek(MAX_HELD_BYTES + 1 if self.format == "jsonld" else HEAD_BYTES)
        root = ROOT.search(head)
        if self.format == "rdf" and ENTITY.search(head, 0, root.start() if root else len(head)):
            raise GraphFileError("the file declares XML entities, which are not read: write it as Turtle")
        if self.format == "rdf" and root is None:
            raise GraphFileError(f"the first {HEAD_BYTES:,} bytes have no element: this is no RDF/XML")
        if self.format == "jsonld" and len(head) > MAX_HELD_BYTES:
            return ox.parse(input=cast(BinaryIO, source), format=ox.RdfFormat.STREAMING_JSON_LD)
        if self.format == "jsonld":
            return ox.parse(input=BytesIO(fill_contexts(head)), format=ox.RdfFormat.JSON_LD)
        if self.format == RESULTS_TABLE:
            return parse_table(cast(BinaryIO, source))
        syntax = SYNTAXES[self.format]
        if isinstance(syntax, ox.QueryResultsFormat):
            return parse_results(cast(BinaryIO, source), syntax)
        return ox.parse(input=cast(BinaryIO, source), format=syntax)


def parse_results(file: BinaryIO, syntax: ox.QueryResultsFormat) -> Iterator[ox.QuerySolution]:
    """Return the solutions of a query; raise GraphFileError where they have other columns than a fact."""
    results = ox.parse_query_results(input=file, format=syntax)
    n_columns = len(results.variables) if isinstance(results, ox.QuerySolutions) else 0
    if n_columns != RESULT_COLUMNS:
        raise GraphFileError(WRONG_RESULTS.format(n_columns))
    return cast(ox.QuerySolutions, results)


def parse_table(file: BinaryIO) -> Iterator[list[str]]:
    """Yield the records of results as CSV but for the header; raise GraphFileError for a fault."""
    records = csv.reader(TextIOWrapper(file, "utf-8-sig", newline=""), strict=True)
    try:
        next(records, None)
        yield from filter(None, records)
    except (csv.Error, UnicodeDecodeError) as error:
        raise GraphFileError(f"the results cannot be read at line {records.line_num}: {error}") from error


def to_term(cell: str) -> Node | ox.Literal:
    """Return the term that a cell of results as CSV stands for."""
    if node := NODE.fullmatch(cell):
        return ox.BlankNode(node[1]) if node[1] else ox.NamedNode(cell)
    datatype = next((name for name, pattern in LEXICAL_FORMS.items() if pattern.fullmatch(cell)), "string")
    return ox.Literal(cell, datatype=ox.NamedNode(XSD + datatype))


def to_quad(statement: Statement) -> ox.Quad:
    if isinstance(statement, ox.Quad):
        return statement
    try:
        terms: tuple[Any, ...] = tuple(
            map(to_term, check_cells(statement)) if isinstance(statement, list) else statement
        )
    except ValueError as error:
        raise Refused(f"a cell cannot be read: {error}", "syntax") from error
    if None in terms:
        raise Skipped("empty_cell")
    try:
        return ox.Quad(*terms)
    except TypeError as error:
        raise Refused("the subject or the relation is a text, and not an IRI", "syntax") from error


class _Source(RawIOBase):
    """A file whose statements are bounded: the parser holds one until its end.

    Attributes:
        has_cells: Whether it is results as JSON, whose blank nodes get names that the parser takes.
        n_bytes: Bytes that were read since the last statement.
    """

    def __init__(self, file: BinaryIO, has_cells: bool) -> None:
        super().__init__()
        self._file, self._head, self.n_bytes, self.has_cells = file, b"", 0, has_cells

    def peek(self, size: int) -> bytes:
        """Return the beginning, which `read` returns again."""
        while len(self._head) < size and (block := self._file.read(size - len(self._head))):
            self._head += block
        return self._head

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; raise GraphFileError where a statement has too many."""
        if self.has_cells:  # up to the end of a cell where there is one
            size = self.peek(size)[:size].rfind(b"}") + 1 or size
        data, self._head = self._head[:size], self._head[size:]
        data = data or self._file.read(size)
        self.n_bytes += len(data)
        if self.n_bytes > MAX_STATEMENT_BYTES:
            raise GraphFileError(f"a statement has more than {MAX_STATEMENT_BYTES:,} bytes")
        return BLANK_NODE.sub(_name_node, data) if self.has_cells else data


def _name_node(cell: re.Match[bytes]) -> bytes:
    return VALUE.sub(lambda value: re.sub(rb"\W|_", lambda sign: b"_%x_" % sign[0][0], value[0]), cell[0])


def fill_contexts(data: bytes) -> bytes:
    """Return JSON-LD in which schema.org's context, which is at an address, is its vocabulary."""

    def fill(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {key: _vocabulary(value) if key == "@context" else value for key, value in pairs}

    try:
        return json.dumps(json.loads(data, object_pairs_hook=fill)).encode()
    except (ValueError, RecursionError) as error:
        raise GraphFileError(f"this is no JSON that can be read: {error}") from error


def _vocabulary(context: Any) -> Any:
    if isinstance(context, list):
        return [_vocabulary(part) for part in context]
    is_schema = isinstance(context, str) and context in SCHEMA
    return {"@vocab": "http://schema.org/"} if is_schema else context
