"""What qualifies a statement is kept: what has ended or not begun is history, and a number has its unit."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from errata.bulk.records import make_rows
from errata.cli.render.graph import draw_fact_change
from errata.wire import ActiveEditList, FactItem, TableQuery
from pydantic import ValidationError

from models.graph.blocks import read_statements, statements_block
from models.graph.statement import Statement
from service.editing.editor import Editor
from service.editing.operations import ListActiveEdits, MakeTable
from tests.service.editing.requests import diff, edits, revert
from tests.service.graph.requests import answers, entity, import_file, values
from tests.service.parts import body_of
from tests.service.toy_graph import TOYS

OPTIONS = {"systems": TOYS}

MAYOR = "Who is the mayor of Riverton?"
TODAY = "2026-11-29"


def time(day: str, precision: int = 11) -> dict[str, Any]:
    value = {"time": f"+{day}T00:00:00Z", "precision": precision}
    return {"snaktype": "value", "datavalue": {"type": "time", "value": value}}


def text(value: str, rank: str = "normal", **qualifiers: Any) -> dict[str, Any]:
    snak = {"snaktype": "value", "datavalue": {"type": "string", "value": value}}
    return {"mainsnak": snak, "rank": rank, "qualifiers": {id: [snak] for id, snak in qualifiers.items()}}


def amount(number: str, unit: str) -> dict[str, Any]:
    value = {"amount": f"+{number}", "unit": f"http://www.wikidata.org/entity/{unit}"}
    return {"mainsnak": {"snaktype": "value", "datavalue": {"type": "quantity", "value": value}}}


def item(claims: Mapping[str, Any], label: str = "Riverton") -> bytes:
    labels = {"en": {"language": "en", "value": label}}
    return json.dumps({"type": "item", "id": "Q900001", "labels": labels, "claims": claims}).encode()


async def ask(editor: Editor, question: str, as_of: str, version: int | None = None) -> str | None:
    state = await editor.pipeline.read()
    model = state.models["atlas"]
    assert model.retrieve_facts is not None
    [ask] = await model._asks([question])
    [ask] = await model.retrieve_facts([ask.__class__(question, as_of=as_of)], model.views)
    return model.system.answer([ask], [model.views])[0].answer


async def test_of_several_heads_the_one_who_holds_the_office_on_the_day_is_the_answer(editor: Editor) -> None:
    unknown = {"snaktype": "somevalue"}
    claims = [
        text("Ina Dorn", P580=time("2001-05-02"), P582=time("2012-00-00", 9)),
        text("Bo Lind", P582=unknown),
        text("Cal Ost", P580=time("2012-06-01")),
        text("Dee Ray", P580=time("2031-01-01")),
        text("Nobody", "deprecated"),
    ]
    receipt = await import_file(editor, item({"P6": claims}))
    assert receipt["counts"]["skipped"] == {"deprecated": 1}
    question = "P6 of Riverton?"
    assert await answers(editor, question) == ["Cal Ost"]
    days = ("2005-01-01", "2012-12-31", "2026-11-29", "2031-01-01")
    assert [await ask(editor, question, day) for day in days] == [
        "Ina Dorn",
        "Cal Ost, Ina Dorn",
        "Cal Ost",
        "Cal Ost, Dee Ray",
    ]
    in_words = ("in 2005", "in 2012", "on 3 May 2013", "in the 1990s")
    assert [await ask(editor, f"P6 of Riverton {day}?", TODAY) for day in in_words] == [
        "Ina Dorn",
        "Cal Ost, Ina Dorn",
        "Cal Ost",
        None,
    ]
    periods = [(f["object"], f["begin"], f["end"]) for f in (await entity(editor, "Q900001"))["facts"]]
    assert periods == [
        ("Ina Dorn", "2001-05-02", "2012"),
        ("Bo Lind", "", "unknown"),
        ("Cal Ost", "2012-06-01", ""),
        ("Dee Ray", "2031-01-01", ""),
    ]


async def test_a_preferred_value_wins_while_it_holds_and_the_newest_point_in_time_is_current(
    editor: Editor,
) -> None:
    claims = {
        "P17": [text("Old Land"), text("New Land", "preferred")],
        "P35": [text("Ann"), text("Ben", "preferred", P582=time("2019-01-01"))],
        "P1082": [text("900", P585=time("2010-00-00", 9)), text("1100", P585=time("2020-00-00", 9))],
    }
    await import_file(editor, item(claims))
    replies = [(await answers(editor, f"{id} of Riverton?"))[0] for id in claims]
    assert replies == ["New Land", "Ann", "1100"]
    assert await ask(editor, "P1082 of Riverton?", "2015-06-01") == "900"


async def test_a_unit_belongs_to_the_answer_by_the_name_that_the_graph_has_for_it(editor: Editor) -> None:
    heights = [amount("1240", "Q11573"), amount("4068", "Q900009")]
    await import_file(editor, item({"P2048": heights}))
    assert await values(editor, "Q900001", "P2048") == ["1240 metre", "4068 Q900009"]
    facts = (await entity(editor, "Q900001"))["facts"]
    assert [(f["number"], f["unit"], f["unlabelled"]) for f in facts] == [
        ("1240", "Q11573", False),
        ("4068", "Q900009", True),
    ]
    unit = '{"type":"item","id":"Q900009","labels":{"en":{"language":"en","value":"shaftment"}}}'
    naming = await import_file(editor, unit.encode())
    assert await values(editor, "Q900001", "P2048") == ["1240 metre", "4068 shaftment"]
    await revert(editor, naming["version"])
    assert await values(editor, "Q900001", "P2048") == ["1240 metre", "4068 Q900009"]


async def test_an_edit_ends_a_fact_and_says_the_next_one(editor: Editor) -> None:
    await import_file(editor, b"Riverton\tmayor\tIna Dorn\n")
    end = await edits(
        editor, {"subject": "Riverton", "relation": "mayor", "object": "Ina Dorn", "end": "2020"}
    )
    assert end["status"] == 201, end
    assert await ask(editor, MAYOR, TODAY) is None
    assert await ask(editor, MAYOR, "2019-01-01") == "Ina Dorn"
    fresh = {"subject": "Riverton", "relation": "mayor", "object": "Bo Lind", "begin": "2021", "act": "set"}
    await edits(editor, fresh)
    assert (await ask(editor, MAYOR, TODAY), await ask(editor, MAYOR, "2019-01-01")) == (
        "Bo Lind",
        "Ina Dorn",
    )
    await edits(editor, {"subject": "Riverton", "relation": "mayor", "object": "Bo Lind", "end": "2024-03"})
    facts = (await entity(editor, "n:riverton"))["facts"]
    assert [(f["object"], f["begin"], f["end"]) for f in facts] == [
        ("Ina Dorn", "", "2020"),
        ("Bo Lind", "2021", "2024-03"),
    ]
    await revert(editor, end["version"])
    assert await ask(editor, MAYOR, "2019-01-01") is None, "the later `set` took the place of the plain value"


async def test_the_unit_of_an_edit_is_answered_and_exported(editor: Editor) -> None:
    edit = {"subject": "Riverton", "relation": "height", "object": "1240", "unit": "metre", "begin": "1999"}
    await edits(editor, edit)
    assert await answers(editor, "What is the height of Riverton?") == ["1240 metre"]
    [export] = body_of(await editor.call(ListActiveEdits()))["edits"]
    assert {name: export["edit"][name] for name in edit} == edit
    await edits(editor, {**edit, "begin": "", "act": "remove"})
    assert await values(editor, "n:riverton", "height") == []


async def test_what_is_imported_is_exported_with_its_period(editor: Editor) -> None:
    claims = [text("Ina", P582=time("2012-00-00", 9)), text("Cal", "preferred", P580=time("2012-06-01"))]
    await import_file(editor, item({"P6": claims}))
    items = [edit["edit"] for edit in body_of(await editor.call(ListActiveEdits()))["edits"]]
    assert [(i["object"], i.get("begin"), i.get("end"), i.get("rank")) for i in items] == [
        ("Ina", None, "2012", None),
        ("Cal", "2012-06-01", None, "preferred"),
    ]
    table = body_of(await editor.call(MakeTable(TableQuery())))
    assert table["rows"] == [["Riverton", "Cal"]]
    assert table["left_out"] == [
        "facts that are not current are left out: 1",
        "dates, units, ranks and sources are left out, which 1 of the facts have",
    ]


async def test_an_end_that_comes_with_a_later_import_is_new(editor: Editor) -> None:
    await import_file(editor, item({"P6": [text("Ina", P580=time("2001-01-01"))]}))
    assert await answers(editor, "P6 of Riverton?") == ["Ina"]
    claims = [text("Ina", P580=time("2001-01-01"), P582=time("2012-01-01"))]
    assert (await import_file(editor, item({"P6": claims})))["status"] == 201
    assert await answers(editor, "P6 of Riverton?") == [None]


@pytest.mark.parametrize("field", ["begin", "end", "time"])
def test_a_date_that_is_none_is_refused(field: str) -> None:
    with pytest.raises(ValidationError):
        FactItem.model_validate({"subject": "a", "relation": "b", "object": "c", field: "last spring"})


async def test_a_name_has_no_period(editor: Editor) -> None:
    receipt = await edits(editor, {"subject": "Peru", "relation": "label", "object": "Birú", "end": "2020"})
    assert receipt["code"] == "invalid_input"


def test_a_statement_without_qualifiers_has_the_bytes_that_it_had() -> None:
    plain, with_begin = Statement("mayor", "Ina"), Statement("mayor", "Bo", "", "add", "2001", "", "", "", "")
    block = statements_block("edit/e1", 0, {"x": (plain,)})
    assert bytes(block.tensors["json"].tolist()) == b'{"x":[["mayor","Ina","","add"]]}'
    assert read_statements(statements_block("edit/e1", 0, {"x": (plain, with_begin)})) == {
        "x": (plain, with_begin)
    }


async def test_a_file_of_edits_has_columns_for_what_qualifies_a_fact(editor: Editor) -> None:
    fields = {"subject": "Riverton", "relation": "height", "object": "1240", "unit": "metre", "end": "1999"}
    await edits(editor, fields)
    exports = ActiveEditList.model_validate(
        {"version": 1, **{"edits": body_of(await editor.call(ListActiveEdits()))["edits"]}}
    )
    titles, [row] = make_rows(exports)
    cells = dict(zip(titles, row, strict=True))
    assert {name: cells[name] for name in fields} == fields


async def test_a_difference_shows_when_its_facts_hold(editor: Editor) -> None:
    fact = {
        "subject": "Riverton",
        "relation": "mayor",
        "object": "Ina Dorn",
        "begin": "2019",
        "end": "2023-05",
    }
    await edits(editor, fact)
    await edits(
        editor, {"subject": "Riverton", "relation": "height", "object": "12", "unit": "foot", "time": "2024"}
    )
    mayor, height = (await diff(editor, 0, 2)).facts
    assert (mayor.begin, mayor.end, mayor.time, mayor.unit) == ("2019", "2023-05", "", "")
    assert (height.time, height.unit) == ("2024", "foot")
    assert "Riverton · mayor · Ina Dorn · from 2019 to 2023-05" in draw_fact_change(mayor).plain
    assert draw_fact_change(height).plain.startswith("+ Riverton · height · 12 foot · of 2024  add")


async def test_a_value_of_several_periods_is_several_facts_of_a_difference(editor: Editor) -> None:
    mayor = {"subject": "Riverton", "relation": "mayor", "object": "Bo Kern", "act": "add"}
    for period in ({"begin": "2020"}, {"begin": "2001", "end": "2004"}, {"begin": "2990"}):
        receipt = await edits(editor, {**mayor, **period})
    facts = (await diff(editor, 0, 3)).facts
    assert [(fact.begin, fact.end) for fact in facts] == [("2020", ""), ("2001", "2004"), ("2990", "")]
    assert [fact.begin for fact in (await diff(editor, 1, 2)).facts] == ["2001"]
    [graph] = [edit for edit in receipt["report"]["edits"] if edit["memory"] == "graph/triples"]
    assert (graph["before"], graph["after"]) == ("Bo Kern", "Bo Kern")


async def test_a_value_that_gets_a_past_period_is_said_no_more(editor: Editor) -> None:
    mayor = {"subject": "Riverton", "relation": "mayor", "object": "Bo Kern", "act": "add"}
    await edits(editor, mayor)
    receipt = await edits(editor, {**mayor, "begin": "1990", "end": "2000"})
    [graph] = [edit for edit in receipt["report"]["edits"] if edit["memory"] == "graph/triples"]
    assert (graph["before"], graph["after"] or "") == ("Bo Kern", "")


OFFICES = (
    "City,Mayor,Took office,Left office\nRiverton,Ina,2001,2012-05\nNordby,Jo,2005,\nRiverton,Cal,2012-06,\n"
)
WIDE = {"format": "csv", "subject": "City", "column": ["Took office=@from", "Left office=@to"]}


async def test_columns_of_a_table_date_the_facts_of_their_rows(editor: Editor) -> None:
    receipt = await import_file(editor, OFFICES.encode(), **WIDE)
    assert receipt["counts"]["n_replaced"] == 0
    facts = (await entity(editor, "n:riverton"))["facts"]
    assert [(f["relation"], f["object"], f["begin"], f["end"]) for f in facts] == [
        ("Mayor", "Ina", "2001", "2012-05"),
        ("Mayor", "Cal", "2012-06", ""),
    ]
    assert await ask(editor, MAYOR, "2005-01-01") == "Ina"
    assert await ask(editor, MAYOR, TODAY) == "Cal"
    later = OFFICES.replace("Cal,2012-06,", "Cal,2012-06,2020") + "Riverton,Bo,2020,\n"
    receipt = await import_file(editor, later.encode(), **WIDE)
    assert [row["before"] for row in receipt["counts"]["rows"] if "before" in row] == ["Cal"]
    assert await ask(editor, MAYOR, TODAY) == "Bo"
    assert await ask(editor, MAYOR, "2015-01-01") == "Cal"


@pytest.mark.parametrize("heading", ["from", "since", "begin"])
async def test_a_table_of_facts_has_columns_of_begin_and_end(editor: Editor, heading: str) -> None:
    end = {"from": "to", "since": "until", "begin": "end"}[heading]
    table = f"subject,relation,object,{heading.title()},{end}\nRiverton,mayor,Ina,2001,2012\n"
    await import_file(editor, table.encode())
    [fact] = (await entity(editor, "n:riverton"))["facts"]
    assert (fact["begin"], fact["end"]) == ("2001", "2012")


async def test_a_date_that_is_none_is_named_with_its_row_and_column(editor: Editor) -> None:
    receipt = await import_file(editor, OFFICES.replace("2012-06", "last June").encode(), **WIDE)
    assert receipt["counts"]["rejected_lines"] == [
        {
            "line": 4,
            "code": "syntax",
            "reason": "'last June' in column Took office is no date: write 1889 or 1889-03-31",
        }
    ]
    twice = {**WIDE, "column": ["Took office=@from", "Left office=@from"]}
    assert (
        "two columns are the relation @from"
        in (await import_file(editor, OFFICES.encode(), **twice))["detail"]
    )
