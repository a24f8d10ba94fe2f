"""Tables that are exported and sent again: of facts, of things, and of all active edits."""

import json
import random
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.http.conftest import Run
from tests.service.toy_graph import TOYS
from tests.workbooks import workbook

OPTIONS = {"systems": TOYS}
N_STEPS = 30
SUBJECT = ("question", "answer", "subject", "relation", "object", "define")
THINGS = ("mill", "barn", "oak", "inn", "Peru", "Chile", "Kestrel Hall", "Georgia")
WORDS = ("Ada", "Bo, Cy", '"Dee" | Eve', "Lima", "Cusco", " = 1", "[1]", "Zoë")
RELATIONS = ("capital", "neighbour", "motto", "alias")
NAMES = (*THINGS, "Hall 10", "mill 3")
QUESTIONS = (
    *(f"who runs {thing} {n}?" for thing in NAMES for n in range(3)),
    *(f"{thing} | runner {n}?" for thing in NAMES for n in range(9)),
    *(f"what is the {relation} of {thing}?" for thing in NAMES for relation in RELATIONS),
    *(f"who is the director of {thing}?" for thing in NAMES),
    *(f"who {step}?" for step in range(N_STEPS)),
)


def draw_fact(draw: random.Random, thing: str) -> dict[str, Any]:
    relation = draw.choice(RELATIONS)
    value = f"{thing} {draw.randrange(9)}" if relation == "alias" else draw.choice(WORDS).strip()
    act = "add" if relation == "alias" else draw.choice(("add", "set", "remove", "add"))
    only = {"only": "graph"} if draw.random() < 0.2 else {}
    subject = "Q230" if thing == "Georgia" else thing  # two things have this name
    return {"subject": subject, "relation": relation, "object": value, "act": act, "create": True, **only}


def draw_edit(draw: random.Random) -> dict[str, Any]:
    """Return a correction with the parts that a cell has to keep, a fact, or the definition of a relation."""
    thing = draw.choice(THINGS)
    if draw.random() < 0.4:
        return draw_fact(draw, thing)
    if draw.random() < 0.1:
        return {"define": draw.choice(RELATIONS[1:3]), "holds": draw.choice(("one", "many"))}
    return {
        "question": f"who runs {thing} {draw.randrange(3)}?",
        "answer": draw.choice(WORDS),
        "paraphrases": [f"{thing} | runner {draw.randrange(9)}?" for _ in range(draw.randrange(3))],
        "counterexamples": [f"where is {thing}?"] * draw.randrange(2),
        "tests": [{"question": f"is {thing} old?", "answer": "no = no"}] * draw.randrange(2),
        "model": "toy",
    }


async def write_history(http: httpx.AsyncClient, draw: random.Random) -> None:
    """Make commits of all kinds, and take some of them back.

    An import stays: a fact about a thing that it named would lose the name, which a row of a table gives it again.
    """
    imports: list[int] = []
    for step in range(N_STEPS):
        edits = [draw_edit(draw) for _ in range(draw.choice((1, 1, 4)))]
        method = draw.choice((None, None, "surgery"))
        body = {"edits": edits, "method": method, "skip_refused": True, "wait": "none"}
        receipt = (await http.post("/admin/edits", json=body)).json()
        version = receipt.get("version")
        if version and draw.random() < 0.3 and "answer" in edits[0] and method is None:
            newer = {
                **edits[0],
                "answer": "Ida",
                "replaces": [version],
                "paraphrases": [],
                "question": f"who {step}?",
            }
            await http.post("/admin/edits", json={"edits": [newer]})
        target = draw.randrange(1, version + 1) if version and draw.random() < 0.15 else None
        if target and target not in imports:
            await http.post("/admin/reverts", json={"version": target})
        if step % 20 == 10:
            table = f"Name,director\nHall {step},{draw.choice(('Ada', 'Bo'))}\nmill,Cy\n"
            receipt = (await http.post("/admin/graph/import?subject=Name", content=table.encode())).json()
            imports.append(receipt["version"])


async def ask_all(http: httpx.AsyncClient) -> list[Any]:
    """Return the answers of both systems to questions about everything that the history may have touched."""
    answers: list[Any] = []
    for model in TOYS:
        for start in range(0, len(QUESTIONS), 100):
            batch = [{"question": question, "model": model} for question in QUESTIONS[start : start + 100]]
            results = (await http.post("/v1/answers/batch", json={"questions": batch})).json()["results"]
            answers += [result["answer"]["answer"] for result in results]
    return answers


@pytest.mark.parametrize("seed", range(2))
async def test_the_edits_of_a_file_answer_as_those_that_it_was_made_of(
    http: httpx.AsyncClient, run: Run, tmp_path: Path, seed: int
) -> None:
    await write_history(http, random.Random(seed))
    answers = await ask_all(http)
    tables = []
    for name in ("a.csv", "b.xlsx", "c.csv"):
        file = str(tmp_path / name)
        result = await run("export", file, "--edits")
        assert result.exit_code == 0, result.output
        tables.append([without_places(edit) for edit in (await http.get("/admin/edits")).json()["edits"]])
        await run("rollback", "--to", "0")
        assert (await http.get("/admin/edits")).json()["edits"] == []
        assert await ask_all(http) != answers
        result = await run("edit", "--file", file)
        assert result.exit_code in (0, 5), result.output
        assert await ask_all(http) == answers
    assert tables[1] == tables[2]
    # An edit that is missing after the first time is one that edits before it had made needless.
    subjects = [{tuple(str(edit.get(name)) for name in SUBJECT) for edit in table} for table in tables]
    assert subjects[1] <= subjects[0]
    assert len(tables[0]) - 4 <= len(tables[1]) > N_STEPS // 2


def without_places(edit: dict[str, Any]) -> dict[str, Any]:
    """Return an edit without what names its place in one ledger."""
    return {"method": edit["method"], **edit["edit"], "replaces": None}


async def test_a_change_without_a_place_in_a_table_is_named(run: Run, tmp_path: Path) -> None:
    file = str(tmp_path / "a.csv")
    assert "has 0 rows" in (await run("export", file, "--edits")).output
    assert "--edits are all" in (await run("export", file, "--edits", "--force", "--at", "1")).output


FACTS = (  # an old director, a new one, a value among several that goes, and a correction
    {"define": "director", "holds": "one"},
    {"subject": "Kestrel Hall", "relation": "director", "object": "Ada", "act": "set"},
    {"subject": "Kestrel Hall", "relation": "director", "object": "Bo", "act": "set"},
    {"subject": "Kestrel Hall", "relation": "show", "object": "Textiles", "act": "add"},
    {"subject": "Kestrel Hall", "relation": "show", "object": "Glass", "act": "add"},
    {"subject": "Kestrel Hall", "relation": "show", "object": "Textiles", "act": "remove"},
    {"question": "who runs the mill?", "answer": "Ada", "model": "toy"},
    {"question": "who runs the mill?", "answer": "Bo", "model": "toy"},
)


async def list_facts(http: httpx.AsyncClient) -> list[Any]:
    edits = (await http.get("/admin/edits")).json()["edits"]
    return [without_places(edit) for edit in edits]


async def test_an_export_that_is_sent_again_changes_nothing(
    http: httpx.AsyncClient, run: Run, tmp_path: Path
) -> None:
    for fact in FACTS:
        reply = await http.post("/admin/edits", json={"edits": [fact]})
        assert reply.status_code == 201, reply.text
    file, facts = str(tmp_path / "a.csv"), await list_facts(http)
    await run("export", file, "--edits")
    for options in (("--dry-run",), (), ("--skip-bad",), ("--skip-bad", "--dry-run")):
        result = await run("edit", "--file", file, *options)
        assert result.exit_code == 0, result.output
        assert await head_of(http) == len(FACTS), result.output
    # What was taken back since then is made again, with what came after it of the same, and nothing else.
    await http.post("/admin/reverts", json={"version": 2})
    await run("edit", "--file", file, "--skip-bad")
    assert await head_of(http) == len(FACTS) + 3
    assert (await http.get("/admin/versions?limit=1")).json()["versions"][0]["first"]["notes"][
        "object"
    ] == "Bo"
    # A rollback takes all away, and the file says the same again, once.
    await http.post("/admin/rollbacks", json={"to": 0})
    for _ in range(2):
        await run("edit", "--file", file, "--skip-bad", "--again")
        assert await list_facts(http) == facts


async def head_of(http: httpx.AsyncClient) -> int:
    head: int = (await http.get("/admin/versions?limit=1")).json()["head"]
    return head


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
