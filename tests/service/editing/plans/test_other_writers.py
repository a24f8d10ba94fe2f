"""Files that other programs write of one table are imported, and compared with the table that each was given.

A writer whose package is missing is left out; those of the development lock make thirty files. What the graph then has
is compared as text: a date and a number as the table has them, a thing by its name.
"""

import csv
import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import pyoxigraph as ox
from errata.wire import TableQuery

from service.editing.editor import Editor
from service.editing.operations import MakeTable
from tests.service.editing.requests import revert
from tests.service.graph.requests import import_file
from tests.service.parts import body_of
from tests.service.toy_graph import TOYS
from tests.workbooks import workbook

OPTIONS = {"systems": TOYS}

LEAST_SHARE = 0.95
COLUMNS = ("Name", "founded", "opened", "height", "workers", "motto", "sister")
TABLE: tuple[tuple[Any, ...], ...] = (
    ("Tide Mill", date(1903, 3, 31), datetime(2024, 5, 1, 14, 30, 15), 12.5, 14, 'Say "yes", then; go', "Île–Verte"),
    ("Île–Verte", date(2001, 12, 1), datetime(1999, 1, 2, 3, 4, 5), 8848.86, 0, "naïve 東京 <&> 'x'", "Orla's Yard"),
    ("Orla's Yard", date(2024, 2, 29), datetime(2026, 11, 29, 23, 59, 59), -0.0625, None, "007", "Tide Mill"),
    ("Kvæn, Hall", date(1950, 1, 1), datetime(1950, 1, 1, 12, 0, 1), 1e6, 123456789, "1e5, 3.50", "Tide Mill"),
)  # fmt: skip
FACTS = [
    (row[0], relation, value)
    for row in TABLE
    for relation, value in zip(COLUMNS[1:], row[1:], strict=True)
    if value is not None
]
TEXT_ROWS = [["" if cell is None else str(cell) for cell in row] for row in TABLE]
EX = "http://ex.org/"
IDS = {row[0]: f"{EX}{number}" for number, row in enumerate(TABLE)}
XSD, LABEL = "http://www.w3.org/2001/XMLSchema#", "http://www.w3.org/2000/01/rdf-schema#label"
TYPES = {date: "date", datetime: "dateTime", float: "double", int: "integer", str: "string"}
QUERY = "SELECT ?s ?p ?o { ?s ?p ?o }"


def is_right(value: Any, text: str) -> bool:
    """Return whether a text of the graph is a value of the table: numbers without an exponent, others to the letter."""
    is_number = isinstance(value, int | float) and re.fullmatch(r"-?[\d.]+", text) is not None
    return float(text) == value if is_number else text == str(value)


def lexical(value: Any) -> str:
    return (
        value.isoformat()
        if isinstance(value, date)
        else repr(value)
        if isinstance(value, float)
        else str(value)
    )


def quads(graph: str = "") -> Iterator[ox.Quad]:
    name = ox.NamedNode(graph) if graph else ox.DefaultGraph()
    for thing, id in IDS.items():
        yield ox.Quad(ox.NamedNode(id), ox.NamedNode(LABEL), ox.Literal(thing, language="en"), name)
    for thing, relation, value in FACTS:
        literal = ox.Literal(lexical(value), datatype=ox.NamedNode(XSD + TYPES[type(value)]))
        term = ox.NamedNode(IDS[value]) if relation == "sister" else literal
        yield ox.Quad(ox.NamedNode(IDS[thing]), ox.NamedNode(f"{EX}{relation}"), term, name)


def oxigraph(format: ox.RdfFormat, graph: str = "") -> bytes:
    terms = quads(graph) if format.supports_datasets else (quad.triple for quad in quads())
    return ox.serialize(terms, format=format, prefixes={"ex": EX}) or b""


def results(format: ox.QueryResultsFormat) -> bytes:
    store = ox.Store()
    store.extend(quads())
    return store.query(QUERY).serialize(format=format) or b""  # type: ignore[union-attr]


def write_csv(rows: Any, header: Any = COLUMNS, encoding: str = "utf-8", **options: Any) -> bytes:
    text = StringIO(newline="")
    csv.writer(text, **options).writerows([header, *rows])
    return text.getvalue().encode(encoding)


def facts_by_name() -> list[list[str]]:
    return [[thing, relation, str(value)] for thing, relation, value in FACTS]


def claim(relation: str, value: Any) -> dict[str, Any]:
    if relation == "sister":
        data = {"type": "wikibase-entityid", "value": {"id": f"Q{900 + list(IDS).index(value)}"}}
    elif isinstance(value, date) and not isinstance(value, datetime):
        data = {"type": "time", "value": {"time": f"+{value}T00:00:00Z", "precision": 11}}
    elif isinstance(value, int | float):
        data = {"type": "quantity", "value": {"amount": f"{value:+}", "unit": "1"}}
    else:
        data = {"type": "string", "value": str(value)}
    return {"mainsnak": {"snaktype": "value", "datavalue": data}, "rank": "normal"}


def label(id: str, name: str) -> dict[str, Any]:
    return {
        "type": "property" if id[0] == "P" else "item",
        "id": id,
        "labels": {"en": {"language": "en", "value": name}},
    }


def items() -> list[dict[str, Any]]:
    """Return the things and the relations as entities of Wikidata."""
    claims = {
        thing: {f"P{900 + COLUMNS.index(r)}": [claim(r, value)] for name, r, value in FACTS if name == thing}
        for thing in IDS
    }
    relations = [label(f"P{900 + number}", name) for number, name in enumerate(COLUMNS) if number]
    return [
        *relations,
        *(label(f"Q{900 + n}", name) | {"claims": claims[name]} for n, name in enumerate(IDS)),
    ]


def nodes() -> list[dict[str, Any]]:
    """Return the things as JSON-LD, with a context of its own."""
    types = {"founded": f"{XSD}date", "opened": f"{XSD}dateTime", "sister": "@id"}
    terms = {name: {"@id": f"{EX}{name}", "@type": type} for name, type in types.items()}
    things: dict[str, dict[str, Any]] = {name: {"@id": id, "name": name} for name, id in IDS.items()}
    for thing, relation, value in FACTS:
        things[thing][relation] = (
            IDS[value] if relation == "sister" else value.isoformat() if isinstance(value, date) else value
        )
    return [{"@context": {"@vocab": EX, "name": LABEL, **terms}, **thing} for thing in things.values()]


def write_file(write: Callable[..., Any], suffix: str, folder: Path, **options: Any) -> bytes:
    path = folder / f"file{suffix}"
    write(str(path), **options)
    return path.read_bytes()


def pandas(**types: str) -> Any:
    return import_module("pandas").DataFrame(TABLE, columns=COLUMNS).astype(types)


def polars() -> Any:
    return import_module("polars").DataFrame(TABLE, schema=list(COLUMNS), orient="row")


def rdflib() -> Any:
    """Return the table as a graph of rdflib."""
    return import_module("rdflib").Graph().parse(data=oxigraph(ox.RdfFormat.N_TRIPLES), format="nt")


def duckdb(folder: Path, options: str) -> bytes:
    path, base = folder / "file", import_module("duckdb").connect()
    types = ("VARCHAR", "DATE", "TIMESTAMP", "DOUBLE", "INTEGER", "VARCHAR", "VARCHAR")
    base.execute(f"CREATE TABLE t ({', '.join(map(' '.join, zip(COLUMNS, types, strict=True)))})")
    base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(COLUMNS))})", TABLE)
    base.execute(f"COPY t TO '{path}' ({options})")
    return path.read_bytes()


def xlsxwriter(path: str) -> None:
    book = import_module("xlsxwriter").Workbook(path, {"default_date_format": "d mmm yyyy hh:mm:ss"})
    sheet = book.add_worksheet("Mills")
    for number, row in enumerate([COLUMNS, *TABLE]):
        for place, value in enumerate(row):
            (sheet.write_string if isinstance(value, str) else sheet.write)(number, place, value)
    book.close()


def pyld(name: str, *rest: Any) -> bytes:
    output = getattr(import_module("pyld.jsonld"), name)(nodes(), *rest)
    return output.encode() if isinstance(output, str) else json.dumps(output).encode()


WIDE = {"subject": "Name"}
INTEGERS = {"workers": "Int64"}
NAMES = ("subject", "relation", "object")
RDF = {name: getattr(ox.RdfFormat, name) for name in ("N_TRIPLES", "TURTLE", "TRIG", "RDF_XML", "JSON_LD")}
RESULTS = {name: getattr(ox.QueryResultsFormat, name) for name in ("JSON", "CSV", "TSV")}
FILES: Mapping[str, tuple[Mapping[str, str], Callable[[Path], bytes]]] = {
    # The standard library
    "csv excel": (WIDE, lambda _: write_csv(TEXT_ROWS)),
    "csv excel-tab": (WIDE, lambda _: write_csv(TEXT_ROWS, dialect="excel-tab")),
    "csv unix": (WIDE, lambda _: write_csv(TEXT_ROWS, dialect="unix")),
    "csv semicolon": (WIDE, lambda _: write_csv(TEXT_ROWS, delimiter=";")),
    "csv mark": (WIDE, lambda _: write_csv(TEXT_ROWS, encoding="utf-8-sig")),
    "csv facts": ({}, lambda _: write_csv(facts_by_name(), NAMES)),
    "csv facts tab": ({}, lambda _: write_csv(facts_by_name(), NAMES, dialect="excel-tab")),
    "gzip csv": (WIDE, lambda _: gzip.compress(write_csv(TEXT_ROWS))),
    "json wikidata": ({}, lambda _: "\n".join(map(json.dumps, items())).encode()),
    "json wikidata list": ({}, lambda _: ("[\n" + ",\n".join(map(json.dumps, items())) + "\n]\n").encode()),
    "json wikidata entities": (
        {},
        lambda _: json.dumps({"entities": {e["id"]: e for e in items()}}, indent=1).encode(),
    ),
    "json nodes": ({}, lambda _: json.dumps(nodes(), ensure_ascii=False, indent=2).encode()),
    "openpyxl": (WIDE, lambda _: workbook([COLUMNS, *TABLE])),
    "openpyxl facts": ({}, lambda _: workbook([NAMES, *FACTS])),
    # Packages
    **{f"pyoxigraph {name}": ({}, lambda _, f=format: oxigraph(f)) for name, format in RDF.items()},
    "pyoxigraph N_QUADS": ({}, lambda _: oxigraph(ox.RdfFormat.N_QUADS, f"{EX}g")),
    **{
        f"pyoxigraph results {name}": ({}, lambda _, f=format: results(f)) for name, format in RESULTS.items()
    },
    "pandas": (WIDE, lambda _: pandas(**INTEGERS).to_csv(index=False).encode()),
    "pandas floats": (WIDE, lambda _: pandas().to_csv(index=False).encode()),
    "pandas semicolon": (
        WIDE,
        lambda _: pandas(**INTEGERS).to_csv(index=False, sep=";", decimal=".").encode(),
    ),
    "pandas gzip": (
        WIDE,
        lambda folder: write_file(pandas(**INTEGERS).to_csv, ".csv.gz", folder, index=False),
    ),
    "pandas tab": (WIDE, lambda _: pandas(**INTEGERS).to_csv(index=False, sep="\t").encode()),
    "pandas quotes": (WIDE, lambda _: pandas(**INTEGERS).to_csv(index=False, quoting=csv.QUOTE_ALL).encode()),
    "pandas index": (WIDE, lambda _: pandas(**INTEGERS).set_index("Name").to_csv().encode()),
    "pandas xlsx": (WIDE, lambda folder: write_file(pandas().to_excel, ".xlsx", folder, index=False)),
    "polars": (WIDE, lambda _: polars().write_csv().encode()),
    "polars tab": (WIDE, lambda _: polars().write_csv(separator="\t", quote_style="always").encode()),
    "xlsxwriter": (WIDE, lambda folder: write_file(xlsxwriter, ".xlsx", folder)),
    "duckdb": (WIDE, lambda folder: duckdb(folder, "HEADER")),
    "duckdb semicolon": (WIDE, lambda folder: duckdb(folder, "HEADER, DELIMITER ';', FORCE_QUOTE *")),
    **{
        f"rdflib {name}": ({}, lambda _, n=name: rdflib().serialize(format=n).encode())
        for name in ("nt", "turtle", "longturtle", "xml", "pretty-xml", "json-ld")
    },
    **{
        f"rdflib results {name}": ({}, lambda _, n=name: rdflib().query(QUERY).serialize(format=n))
        for name in ("json", "csv")
    },
    "pyld expand": ({}, lambda _: pyld("expand")),
    "pyld flatten": ({}, lambda _: pyld("flatten", nodes()[0]["@context"])),
    "pyld to_rdf": ({}, lambda _: pyld("to_rdf", {"format": "application/n-quads"})),
}
PRESENT = [name for name in FILES if find_spec(name.split()[0])]


async def test_files_of_other_writers_are_read_as_the_table_that_they_were_given(
    editor: Editor, tmp_path: Path
) -> None:
    expected = {(thing, relation): value for thing, relation, value in FACTS}
    n_right = n_all = 0
    faults: dict[str, Any] = {}
    for name in PRESENT:
        order, write = FILES[name]
        receipt = await import_file(editor, write(tmp_path), **order)
        table = body_of(await editor.call(MakeTable(TableQuery())))
        texts = {
            (row[0], r): text
            for row in table["rows"]
            for r, text in zip(table["columns"], row, strict=True)
            if text
        }
        read = {key: text for key, text in texts.items() if key[1] != table["columns"][0]}
        right = [key for key, value in expected.items() if is_right(value, read.get(key, ""))]
        n_right, n_all = n_right + len(right), n_all + len(expected | read)
        if wrong := {key: read.get(key) for key in expected | read if key not in right}:
            faults[name] = wrong, receipt.get("detail")
        if receipt["status"] == 201:
            await revert(editor, receipt["version"])
    print(f"{n_right} of {n_all} facts of {len(PRESENT)} files are right: {n_right / n_all:.1%}", faults)
    assert len(PRESENT) >= 30
    assert n_right >= LEAST_SHARE * n_all, faults
