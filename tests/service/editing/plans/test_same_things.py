"""A thing of a file that is said to be an entity of Wikidata is that entity, as long as its import counts."""

import pytest

from service.editing.editor import Editor
from service.editing.plans.import_ import NOT_SAME, SAME
from tests.service.editing.requests import head, revert
from tests.service.graph.requests import answers, entity, import_file, search, values
from tests.service.toy_graph import TOYS

OPTIONS = {"systems": TOYS}

PREFIXES = """@prefix e: <http://e/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix wd: <http://www.wikidata.org/entity/> .
"""
PERU = """e:pe skos:prefLabel "Perú" ; e:anthem "Somos libres" .
e:llama skos:prefLabel "llama" ; e:home e:pe .
"""


@pytest.mark.parametrize("link", ["owl:sameAs", "skos:exactMatch"])
@pytest.mark.parametrize("is_behind", [False, True])
async def test_facts_and_names_of_a_thing_go_to_the_entity_that_it_is(
    editor: Editor, link: str, is_behind: bool
) -> None:
    line = f"e:pe {link} wd:Q419 .\n"
    receipt = await import_file(editor, (PREFIXES + (PERU + line if is_behind else line + PERU)).encode())
    peru = await entity(editor, "Q419")
    assert (peru["label"], peru["aliases"]) == ("Peru", ["Republic of Peru", "Перу", "Perú"])
    assert await values(editor, "Q419", "anthem") == ["Somos libres"]
    assert (await entity(editor, "http://e/pe"))["code"] == "not_found"
    [home] = (await entity(editor, "http://e/llama"))["facts"]
    assert (home["object"], home["object_id"]) == ("Peru", "Q419")
    assert await answers(editor, "What is the anthem of Peru?") == ["Somos libres"]
    counts = receipt["counts"]
    assert (counts["triples"], counts["entities"], counts["new_entities"]) == (2, 2, 1)
    assert SAME.format(1) in receipt["report"]["edits"][0]["warnings"]
    await revert(editor, receipt["version"])
    assert (await entity(editor, "Q419"))["aliases"] == ["Republic of Peru", "Перу"]
    assert await values(editor, "Q419", "anthem") == []


async def test_an_entity_of_an_earlier_import_is_one_of_the_graph(editor: Editor) -> None:
    await import_file(
        editor, b'{"id": "Q7", "type": "item", "labels": {"en": {"language": "en", "value": "Oz"}}}'
    )
    page = b'{"@context": "https://schema.org", "@id": "http://e/oz", "telephone": "5", "sameAs": "%b"}'
    await import_file(editor, page % b"https://www.wikidata.org/wiki/Q7")
    assert await search(editor, "Oz") == ["Q7"]
    assert await values(editor, "Q7", "telephone") == ["5"]


async def test_an_entity_that_the_graph_lacks_is_counted_with_what_to_do(editor: Editor) -> None:
    text = PREFIXES + PERU + "e:pe owl:sameAs wd:Q77777 .\n"
    receipt = await import_file(editor, text.encode())
    assert receipt["counts"]["skipped"] == {"no_such_entity": 1}
    assert NOT_SAME.format(1) in receipt["report"]["edits"][0]["warnings"]
    assert await values(editor, "http://e/pe", "anthem") == ["Somos libres"]


async def test_two_things_of_one_file_that_are_one_are_joined(editor: Editor) -> None:
    text = PREFIXES + PERU + 'wd:Q77777 skos:prefLabel "Birú" .\ne:pe owl:sameAs wd:Q77777 .\n'
    await import_file(editor, text.encode())
    assert (await entity(editor, "Q77777"))["aliases"] == ["Perú"]
    assert await values(editor, "Q77777", "anthem") == ["Somos libres"]


async def test_links_without_their_things_are_refused(editor: Editor) -> None:
    refusal = await import_file(editor, (PREFIXES + "e:pe owl:sameAs wd:Q419 .\n").encode())
    assert "sameAs joins things that the same file describes" in refusal["detail"]
    assert await head(editor) == 0
