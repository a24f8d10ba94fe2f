"""The graph of a file that says a fact is kept as the fact's source: shown, exported, diffed, and read back."""

from errata.bulk.records import make_rows
from errata.cli.render.graph import describe_qualifiers, draw_fact_change
from errata.wire import ActiveEditList, EntityFact, FactItem

from models.graph.statement import Statement, shorten
from service.editing.editor import Editor
from service.editing.operations import ListActiveEdits
from tests.service.editing.requests import diff, edits, revert
from tests.service.graph.requests import entity, import_file
from tests.service.parts import body_of
from tests.service.toy_graph import TOYS

OPTIONS = {"systems": TOYS}

TRIG = """@prefix e: <http://e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
e:mill rdfs:label "Tide Mill" ; e:height "12" .
e:survey { e:mill e:height "14" ; e:colour "red" }
_:unnamed { e:mill e:opened "1889" }
"""
QUADS = '<http://e/mill> <http://e/height> "14" {} .\n'


async def sources(editor: Editor) -> dict[tuple[str, str], str]:
    facts = (await entity(editor, "http://e/mill"))["facts"]
    return {(fact["relation"], fact["object"]): fact["source"] for fact in facts}


async def test_a_graph_is_the_source_of_its_facts(editor: Editor) -> None:
    await import_file(editor, TRIG.encode())
    survey = "http://e/survey"
    assert await sources(editor) == {
        ("height", "12"): "",
        ("height", "14"): survey,
        ("colour", "red"): survey,
        ("opened", "1889"): "",
    }
    facts = (await entity(editor, "http://e/mill"))["facts"]
    assert [describe_qualifiers(EntityFact(**fact)) for fact in facts if fact["object"] == "red"] == [
        [f"source {survey}"]
    ]


async def test_a_source_is_exported_and_read_back(editor: Editor) -> None:
    receipt = await import_file(editor, TRIG.encode())
    before = await sources(editor)
    export = body_of(await editor.call(ListActiveEdits()))
    titles, rows = make_rows(ActiveEditList(version=1, edits=export["edits"]))
    assert sorted(row[titles.index("source")] for row in rows).count("http://e/survey") == 2
    await revert(editor, receipt["version"])
    items = [FactItem(**edit["edit"]) for edit in export["edits"]]
    await edits(editor, *(item.model_dump(exclude_defaults=True) for item in items))
    facts = (await entity(editor, "n:tide_mill"))["facts"]
    assert {(fact["relation"], fact["object"]): fact["source"] for fact in facts} == before


async def test_another_source_of_a_fact_is_new_and_the_same_one_is_not(editor: Editor) -> None:
    await import_file(editor, QUADS.format("").encode())
    for _ in range(2):
        receipt = await import_file(editor, QUADS.format("<http://e/survey>").encode())
    assert receipt["code"] == "nothing_to_do"
    assert await sources(editor) == {("height", "14"): "http://e/survey"}
    await revert(editor, 2)
    assert await sources(editor) == {("height", "14"): ""}


async def test_a_difference_names_the_source_of_a_fact(editor: Editor) -> None:
    fact = {"subject": "Tide Mill", "relation": "height", "object": "14", "source": "the survey"}
    await edits(editor, fact)
    [change] = (await diff(editor, 0, 1)).facts
    assert "Tide Mill · height · 14 · source the survey" in draw_fact_change(change).plain
    await import_file(editor, b"subject,relation,object,source\nTide Mill,height,15,a visit\n")
    [change] = (await diff(editor, 1, 2)).facts
    assert [row.source for row in change.rows] == ["a visit"]


def test_a_statement_without_a_source_has_the_fields_that_it_had() -> None:
    statement = Statement("height", "14", "", "add", "1889")
    assert list(shorten(statement)) == ["height", "14", "", "add", "1889", "", "", "", ""]
    assert shorten(statement._replace(source="a visit"))[-1] == "a visit"
