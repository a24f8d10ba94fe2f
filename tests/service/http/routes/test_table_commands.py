"""`errata export` and an import of what it wrote, and the columns that a person is asked about."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.service.http.conftest import Run
from tests.service.toy_graph import TOYS
from tests.workbooks import workbook

OPTIONS = {"systems": TOYS}

SHEET = [["Museum", "Director", "Leitun"], ["Tide Mill", "Ida Brook", "Bo"], ["Rope Walk", "Ann Lee", ""]]


@pytest.mark.parametrize("suffix", [".xlsx", ".csv", ".tsv"])
async def test_what_was_exported_is_imported_without_a_change(run: Run, tmp_path: Path, suffix: str) -> None:
    (source := tmp_path / "in.xlsx").write_bytes(workbook(SHEET))
    await run("import", str(source), "--subject", "Museum")
    file = str(tmp_path / f"out{suffix}")
    result = await run("export", file, "--subject", "Museum")
    assert "has 2 rows and 3 columns, as of version 1." in result.output
    assert "is there already: choose another name, or --force" in (await run("export", file)).output
    again = await run("import", file, "--subject", "Museum")
    assert (again.exit_code, "nothing new: the graph says all 3 triples" in again.output) == (1, True)
    assert "the name ends in .csv, .tsv, .xlsx" in (await run("export", "x.json")).output


@pytest.mark.parametrize("suffix", [".xlsx", ".csv", ".tsv"])
async def test_a_value_like_a_formula_stays_as_it_is_and_a_text_file_warns_of_it(
    run: Run, tmp_path: Path, suffix: str
) -> None:
    row = '"=HYPERLINK(""http://x.org"",""x"")",@home,-12,_x000D_\n'
    (source := tmp_path / "in.csv").write_text(f"sep=,\nMuseum,Note,Sign,Degrees,Code\nTide Mill,{row}")
    await run("import", str(source), "--subject", "Museum")
    file = str(tmp_path / f"out{suffix}")
    result = await run("export", file, "--subject", "Museum")
    assert "has 1 row and 5 columns" in result.output
    assert ("warning: 2 cells with =, +, - or @ at the beginning" in result.output) == (suffix != ".xlsx")
    again = await run("import", file, "--subject", "Museum")
    assert (again.exit_code, "nothing new: the graph says all 4 triples" in again.output) == (1, True)


async def test_a_person_is_asked_about_columns_that_are_no_relation(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file := tmp_path / "in.xlsx").write_bytes(workbook([*SHEET[:2]]))
    await run("import", str(file), "--subject", "Museum", "--column", "Leitun=Leitung")
    rows: list[list[Any]] = [["Museum", "leitun", "Seats", "Notes"], ["Oak", "Cy", 40, "old"]]
    file.write_bytes(workbook(rows))
    monkeypatch.setattr("errata.cli.commands.imports.is_terminal", lambda: True)
    result = await run("import", str(file), "--subject", "Museum", input="No\nleitung\n\n-\n")
    assert "'leitun' is no relation yet (like Leitung)" in result.output
    assert "There is no relation 'No'." in result.output
    output = (await run("entity", "Oak")).output
    assert all(text in output for text in ("Leitung", "Cy", "Seats", "40")), output
    assert "old" not in output


@pytest.mark.parametrize(
    ("replies", "phones"), [("y\n", ["555 02"]), ("n\ny\n", ["555 01", "555 02"]), ("n\nn\n", ["555 01"])]
)
async def test_a_person_is_asked_whether_a_value_takes_the_place_of_another(
    run: Run, monkeypatch: pytest.MonkeyPatch, replies: str, phones: list[str]
) -> None:
    monkeypatch.setattr("errata.cli.commands.graph.is_terminal", lambda: True)
    await run("fact", "Oak Hall", "phone", "555 01")
    result = await run("fact", "Oak Hall", "phone", "555 02", input=replies)
    assert "Put '555 02' in the place of '555 01'?" in result.output
    facts = json.loads((await run("entity", "Oak Hall", "--json")).stdout)["facts"]
    assert [fact["object"] for fact in facts] == phones
