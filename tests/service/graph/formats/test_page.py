"""The table of clients/README.md says what becomes of each value in a file."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.graph.formats.units import UNITS
from tests.service.graph.formats.drive import read

PAGE = Path(__file__).parents[4] / "clients" / "README.md"
XSD = "http://www.w3.org/2001/XMLSchema#"
PAIR = re.compile(r"`([^`]+)` → `([^`]+)`")


def pairs() -> Iterator[tuple[int, str, str]]:
    section = PAGE.read_text("utf-8").partition("### What becomes of a value")[2].partition("\n### ")[0]
    for line in section.splitlines():
        if line.startswith("| ") and "→" in line:
            for place, cell in enumerate(line.strip("| ").split(" | ")):
                yield from ((place, source, text) for source, text in PAIR.findall(cell))


def to_file(place: int, source: str) -> str:
    if place == 1:
        term = re.sub(r"xsd:(\w+)", rf"<{XSD}\1>", source)
        return f"<http://x.org/a> <http://x.org/p> {term} .\n"
    if place == 2:
        value = json.loads(source)
        data = {"type": "time" if "time" in value else "quantity", "value": value}
        claim = {"mainsnak": {"snaktype": "value", "datavalue": data}}
        return json.dumps({"id": "Q1", "claims": {"P1": [claim]}})
    return f"subject,relation,object\na,p,{source}\n"


@pytest.mark.parametrize(("place", "source", "text"), list(pairs()))
def test_a_value_becomes_what_the_page_says(place: int, source: str, text: str) -> None:
    [row] = read(to_file(place, source)).rows
    unit = row.qualifiers[3] if row.qualifiers else ""
    assert " ".join(filter(None, (row.object, UNITS.get(unit, unit)))) == text


def test_the_page_has_values_of_each_format() -> None:
    places = [place for place, _, _ in pairs()]
    assert [places.count(place) >= 4 for place in (1, 2, 3)] == [True] * 3
