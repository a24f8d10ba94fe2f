"""SPARQL's results as TSV, as triples."""

from __future__ import annotations

import re

from service.graph.formats.row import Refused, Skipped
from service.graph.formats.xsd import DECIMAL, DOUBLE, INTEGER, XSD

RESULT_COLUMNS = 3
WRONG_RESULTS = "results of SPARQL with {} columns are no facts: SELECT ?subject ?relation ?object"


def is_results(text: str) -> bool:
    """Return whether a line is the header of SPARQL's results as TSV, whose columns are variables."""
    return all(cell.strip()[:1] in ("?", "$") and len(cell.strip()) > 1 for cell in text.split("\t"))


def check_cells(cells: list[str]) -> list[str]:
    """Return the cells of a row of results; raise Refused if they are too many or too few, Skipped if one is empty."""
    if len(cells) != RESULT_COLUMNS:
        raise Refused(f"{len(cells)} columns instead of {RESULT_COLUMNS}", "columns")
    if not all(map(str.strip, cells)):
        raise Skipped("empty_cell")
    return cells


def to_triple(text: str) -> str:
    """Return a row of results as a triple; numbers and truth values stand there as in Turtle."""
    cells = check_cells(text.split("\t"))
    patterns = {
        "integer": INTEGER,
        "decimal": DECIMAL,
        "double": DOUBLE,
        "boolean": re.compile("true|false"),
    }
    value = cells[2].strip()
    datatype = next((name for name, pattern in patterns.items() if pattern.fullmatch(value)), None)
    cells[2] = f'"{value}"^^<{XSD}{datatype}>' if datatype else value
    return f"{' '.join(cells)} ."
