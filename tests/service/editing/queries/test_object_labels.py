"""An object that is an identifier is called by its label, wherever that stands, at each version by its own labels."""

import json
from dataclasses import replace
from typing import Any

import pytest

from models.graph.view import GraphView
from service.editing.editor import Editor
from service.editing.operations import ListActiveEdits
from service.graph.name_resolution import resolve_relation
from tests.service.editing.requests import head, revert
from tests.service.graph.requests import answers, entity, fact, import_file, search, values
from tests.service.parts import body_of
from tests.service.toy_graph import RELATIONS, TOYS, base

OPTIONS = {"systems": TOYS}

RDFS, SKOS = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2004/02/skos/core#"
M2, H2 = "http://ex.org/m2", "http://ex.org/h2"
KEEPER = "Who is the keeper of Luna Harbour?"
LABEL = f'<{M2}> <{RDFS}label> "Mara Keeper"@en .\n'
HARBOUR = f'<{H2}> <{RDFS}label> "Luna Harbour"@en .\n<{H2}> <http://ex.org/keeper> <{M2}> .\n'


async def keeper(editor: Editor, version: int | None = None) -> tuple[str, bool]:
    [fact] = (await entity(editor, H2, version))["facts"]
    return fact["object"], fact["unlabelled"]


def item(id: str, label: str, capital: str = "") -> bytes:
    snak = {"snaktype": "value", "datavalue": {"type": "wikibase-entityid", "value": {"id": capital}}}
    claims = {"P36": [{"mainsnak": snak, "rank": "normal"}]} if capital else {}
    labels = {"en": {"language": "en", "value": label}}
    return json.dumps({"type": "item", "id": id, "labels": labels, "claims": claims}).encode()


@pytest.mark.parametrize("predicate", [f"{RDFS}label", f"{SKOS}prefLabel", "https://schema.org/name"])
@pytest.mark.parametrize("is_behind", [False, True])
async def test_a_label_of_the_same_file_names_the_object(
    editor: Editor, predicate: str, is_behind: bool
) -> None:
    label = LABEL.replace(f"{RDFS}label", predicate)
    await import_file(editor, (HARBOUR + label if is_behind else label + HARBOUR).encode())
    assert await answers(editor, KEEPER) == ["Mara Keeper"]
    assert await keeper(editor) == ("Mara Keeper", False)


async def test_a_label_of_a_later_import_counts_from_its_version_on_and_goes_with_it(editor: Editor) -> None:
    before = (await import_file(editor, HARBOUR.encode()))["version"]
    assert await answers(editor, KEEPER) == ["m2"]
    assert await keeper(editor) == ("m2", True)
    naming = (await import_file(editor, LABEL.encode()))["version"]
    assert await answers(editor, KEEPER) == ["Mara Keeper"]
    assert await keeper(editor, before) == ("m2", True)
    await revert(editor, naming)
    assert await answers(editor, KEEPER) == ["m2"]
    assert await keeper(editor, naming) == ("Mara Keeper", False)


async def test_a_label_of_an_earlier_import_counts_and_a_newer_label_is_the_name(editor: Editor) -> None:
    await import_file(editor, LABEL.encode())
    await import_file(editor, HARBOUR.encode())
    assert await keeper(editor) == ("Mara Keeper", False)
    newest = (await import_file(editor, LABEL.replace("Mara Keeper", "Mara Holt").encode()))["version"]
    assert await keeper(editor) == ("Mara Holt", False)
    await revert(editor, newest)
    assert await keeper(editor) == ("Mara Keeper", False)


async def test_a_label_that_comes_later_than_the_one_of_the_objects_own_file_is_the_name(
    editor: Editor,
) -> None:
    await import_file(editor, (LABEL + HARBOUR).encode())
    await import_file(editor, LABEL.replace("Mara Keeper", "Mara Holt").encode())
    assert await keeper(editor) == ("Mara Holt", False)
    assert await answers(editor, KEEPER) == ["Mara Holt"]


@pytest.mark.parametrize("is_item_first", [False, True])
async def test_items_name_each_other_in_either_order(editor: Editor, is_item_first: bool) -> None:
    files = [item("Q900001001", "Nordby", "Q900001002"), item("Q900001002", "Sydby")]
    for data in files if is_item_first else reversed(files):
        await import_file(editor, data)
    assert await answers(editor, "P36 of Nordby?") == ["Sydby"]


async def test_an_object_of_the_base_has_the_name_of_the_base(editor: Editor) -> None:
    wikidata = f"<{H2}> <http://ex.org/land> <http://www.wikidata.org/entity/Q419> .\n"
    await import_file(editor, wikidata.encode())
    assert await values(editor, H2, "land") == ["Peru"]
    await import_file(editor, item("Q419", "Birú"))
    assert await values(editor, H2, "land") == ["Birú"]
    assert await values(editor, "Q298", "shares_border_with") == ["Birú"]


@pytest.mark.parametrize("id", [M2, "Q900001002"])
async def test_an_edit_labels_what_the_graph_knows_as_an_object_alone(editor: Editor, id: str) -> None:
    data = HARBOUR.encode() if id == M2 else item("http", "x") and item("Q900001001", "Nordby", id)
    subject, relation = (H2, "keeper") if id == M2 else ("Q900001001", "P36")
    await import_file(editor, data)
    receipt = await fact(editor, id, "label", "Mara Keeper")
    assert receipt["status"] == 201, receipt
    assert await values(editor, subject, relation) == ["Mara Keeper"]
    await revert(editor, receipt["version"])
    assert await values(editor, subject, relation) == ["m2" if id == M2 else id]


async def test_an_id_that_nothing_speaks_of_is_still_refused(editor: Editor) -> None:
    receipt = await fact(editor, "Q900001009", "label", "Nowhere")
    assert (receipt["status"], receipt["code"]) == (422, "invalid_input")


@pytest.mark.parametrize("cell", ["", "m2", M2])
async def test_the_object_id_of_a_table_is_named_by_its_label(editor: Editor, cell: str) -> None:
    table = f"subject,relation,object,object_id\nHarbour,keeper,{cell},{M2}\n".encode()
    await import_file(editor, table)
    [before] = (await entity(editor, "n:harbour"))["facts"]
    assert (before["object"], before["unlabelled"]) == (cell or "m2", True)
    await import_file(editor, LABEL.encode())
    assert await values(editor, "n:harbour", "keeper") == ["Mara Keeper"]


async def test_a_text_that_a_table_gives_an_object_stays(editor: Editor) -> None:
    await import_file(editor, b"subject,relation,object,object_id\nHarbour,land,Incaland,Q419\n")
    assert await values(editor, "n:harbour", "land") == ["Incaland"]


async def test_the_receipt_the_answer_and_the_items_say_the_name(editor: Editor) -> None:
    await import_file(editor, LABEL.encode())
    receipt = await import_file(editor, HARBOUR.encode())
    assert [row["object"] for row in receipt["counts"]["rows"]] == ["Mara Keeper"]
    items: list[dict[str, Any]] = body_of(await editor.call(ListActiveEdits()))["edits"]
    assert "Mara Keeper" in [item["edit"]["object"] for item in items]
    assert "m2" not in json.dumps([item["edit"] for item in items])


async def test_the_facts_of_an_answer_say_where_no_label_is_known(editor: Editor) -> None:
    await import_file(editor, HARBOUR.encode())
    model = (await editor.pipeline.read()).models["atlas"]
    [ask] = await model._asks([KEEPER])
    [reply] = model.system.answer([ask], [model.views])
    [rest] = reply.facts
    assert (rest["object"], rest["unlabelled"], rest["object_id"]) == ("m2", True, M2)


async def test_a_removed_fact_is_called_by_the_label_too(editor: Editor) -> None:
    await import_file(editor, LABEL.encode())
    harbour = (await import_file(editor, HARBOUR.encode()))["version"]
    await import_file(editor, HARBOUR.replace("keeper", "owner").encode())
    await revert(editor, harbour)
    removed_facts = (await entity(editor, H2))["removed_facts"]
    assert [fact["object"] for fact in removed_facts] == ["Mara Keeper"]
    assert await head(editor) == 4


async def test_what_people_took_away_is_left_out_alone_among_objects_with_ids(editor: Editor) -> None:
    other = HARBOUR + f"<{H2}> <http://ex.org/keeper> <http://ex.org/m3> .\n"
    await import_file(editor, (LABEL + other).encode())
    await fact(editor, H2, "keeper", "Mara Keeper", act="remove")
    await import_file(editor, (LABEL + other.replace("m3", "m4")).encode(), keep_corrections=True)
    assert await values(editor, H2, "keeper") == ["m3", "m4"]


async def test_a_blank_node_belongs_to_its_document(editor: Editor) -> None:
    for name in ("Ann", "Ben"):
        node = f'_:b0 <{RDFS}label> "{name}"@en .\n_:b0 <http://ex.org/born> "1970" .\n'
        await import_file(editor, node.encode())
    assert await answers(editor, "When was Ann born?", "When was Ben born?") == ["1970", "1970"]
    assert (await import_file(editor, node.encode()))["status"] == 201
    assert len(await search(editor, "Ben")) == 1, "the same document has the same nodes"


async def test_a_node_that_is_about_an_entity_is_left_out_and_counted(editor: Editor) -> None:
    article, about = "<https://en.wikipedia.org/wiki/Peru>", "<http://schema.org/about>"
    lines = [
        f'{article} <http://schema.org/name> "Peru"@en .',
        f"{article} {about} <http://www.wikidata.org/entity/Q419> .",
        '<http://www.wikidata.org/entity/Q419> <http://www.wikidata.org/prop/direct/P1> "x" .',
    ]
    receipt = await import_file(editor, "\n".join(lines).encode())
    assert receipt["counts"]["skipped"] == {"about_entity": 2}
    assert await search(editor, "Peru") == ["Q419"]


@pytest.mark.parametrize("is_behind", [False, True])
async def test_a_label_of_a_relation_names_the_relation(editor: Editor, is_behind: bool) -> None:
    label = f'<http://ex.org/keeper> <{RDFS}label> "custodian"@en .\n'
    data = HARBOUR + LABEL
    receipt = await import_file(editor, (data + label if is_behind else label + data).encode())
    assert receipt["counts"]["skipped"] == {"about_relation": 1}
    assert await answers(editor, "Who is the custodian of Luna Harbour?") == ["Mara Keeper"]
    assert await search(editor, "custodian") == []


async def test_a_relation_of_another_vocabulary_is_no_property_of_wikidata(editor: Editor) -> None:
    for relation in ("http://www.wikidata.org/prop/direct/P999", "http://o.example/p999", "urn:lab:p998"):
        await import_file(editor, f'<http://e/oz> <{relation}> "{relation}" .'.encode())
    await import_file(editor, b"land,P998\nIx,seven\n", subject="land")
    assert await values(editor, "http://e/oz", "P999") == ["http://www.wikidata.org/prop/direct/P999"]
    assert await values(editor, "http://e/oz", "p999") == ["http://o.example/p999"]
    assert await values(editor, "n:ix", "P998") == ["seven"]


@pytest.mark.parametrize(("name", "id"), [("P36", "capital"), ("p36", "p36"), ("Capital", "capital")])
def test_the_id_of_a_property_is_known_to_the_letter(name: str, id: str) -> None:
    relations = {"capital": replace(RELATIONS["capital"], property="P36")}
    assert resolve_relation(name, GraphView(replace(base(), relations=relations))) == id


async def test_a_node_without_a_label_is_no_answer(editor: Editor) -> None:
    height = '{"@type": "QuantitativeValue", "value": 21, "unitCode": "MTR"}'
    page = f'{{"@context": "https://schema.org", "@id": "http://e/oz", "name": "Oz", "height": {height}, '
    receipt = await import_file(editor, (page + '"founder": {"name": "Zoe"}}').encode())
    assert receipt["counts"]["skipped"] == {"blank_node": 4}
    assert await values(editor, "http://e/oz", "height") == []
    assert await answers(editor, "What is the founder of Oz?") == ["Zoe"]


async def test_labels_of_relations_alone_are_imported(editor: Editor) -> None:
    label = {"en": {"language": "en", "value": "head of government"}}
    data = json.dumps({"type": "property", "id": "P6", "labels": label, "claims": {}})
    assert (await import_file(editor, data.encode()))["status"] == 201
    assert await values(editor, "Q419", "head of government") == []
