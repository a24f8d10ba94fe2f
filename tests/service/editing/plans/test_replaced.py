"""Edits that replace others, respect others, and are taught."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from errata.wire import EditItem
from pydantic import ValidationError

from models.nkb.memory import BANK
from service.editing.draft import EditorState
from service.editing.editor import Editor
from service.editing.evaluation.lineage import Value
from service.editing.operations import GetEdit, RunChecks
from service.editing.planned_edit import PlannedEdit
from service.editing.plans.conflicts import find_named
from service.ledger.commit import EDITS_PER_COMMIT, EditRecord, Triple
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import PERU, check, edits, head, item, revert
from tests.service.graph.requests import answers, checksums, define, fact, import_file, tsv, values
from tests.service.parts import body_of
from tests.service.toy_graph import TOYS

OPENS, HOURS = "When does the canteen open?", "canteen opening hours"
MAYOR = "Who is the mayor of the capital of Peru?"


def correction(question: str, answer: str, **fields: Any) -> dict[str, Any]:
    return item(question, answer, model="nkb") | fields


async def preview(editor: Editor, question: str) -> str | None:
    """Return the question's answer in a dry run of another edit that names it as a counterexample."""
    probe = correction("zzz?", "nothing", counterexamples=[question])
    report = (await edits(editor, probe, dry_run=True))["report"]["edits"][0]["counterexamples"][0]
    assert report["before"] == report["after"]
    assert not report["follows"]
    answer: str | None = report["after"]
    return answer


async def test_an_edit_answers_in_the_words_of_the_one_it_was_told_to_replace(nkb_editor: Editor) -> None:
    await edits(nkb_editor, correction(OPENS, "at eight"))
    receipt = await edits(nkb_editor, correction(HOURS, "nine to five", replaces=[1]), strict=True)
    (test,) = receipt["report"]["superseded_tests"]
    assert (test["question"], test["follows"], test["by_version"]) == (OPENS, True, 2)
    assert await preview(nkb_editor, OPENS) == "nine to five"
    report = await check(nkb_editor)
    assert (report.broken, report.overwritten, report.superseded) == ([], [], 1)
    await revert(nkb_editor, 2)
    assert await preview(nkb_editor, OPENS) == "at eight"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (7, "version 7 is no active correction of nkb"),
        ("0123456789ab", "edit 0123456789ab is no active correction of nkb"),
        (1, "version 1 made 2 edits of nkb: name the one that is meant by its id"),
    ],
)
async def test_whom_an_edit_replaces_has_to_be_one_edit_in_force(
    nkb_editor: Editor, name: int | str, says: str
) -> None:
    await edits(nkb_editor, correction(OPENS, "at eight"), correction(PERU, "Cusco"))
    refused = await edits(nkb_editor, correction(HOURS, "nine to five", replaces=[name]))
    assert (refused["status"], refused["field"]) == (422, "edits.0.replaces")
    assert says in refused["detail"]


def test_many_edits_that_replace_others_are_compared_with_those_alone() -> None:
    class CountedName(str):
        n_compared = 0

        def __eq__(self, other: object) -> bool:
            CountedName.n_compared += 1
            return super().__eq__(other)

        __hash__ = str.__hash__

    records = [
        EditRecord(f"e{n}", "nkb", CountedName(BANK), f"Who is {n}?", "he", (), "", "", n * EDITS_PER_COMMIT)
        for n in range(100)
    ]
    earlier = {record.id: record for record in records}
    state = EditorState((), earlier, frozenset(earlier), {}, {})
    for n in range(100):
        edit = PlannedEdit(n, "nkb", BANK, "", "Who?", "he", replaces=(n, f"e{99 - n}"))
        assert find_named(edit, state) == [f"e{n}", f"e{99 - n}"]
    assert CountedName.n_compared <= 4 * len(records)


async def test_an_edit_that_was_replaced_is_not_replaced_again(nkb_editor: Editor) -> None:
    await edits(nkb_editor, correction(OPENS, "at eight"))
    receipt = await edits(nkb_editor, correction(OPENS, "at nine"))
    id = receipt["report"]["edits"][0]["id"]
    item = correction(HOURS, "nine to five", replaces=[1])
    refused = await edits(nkb_editor, item)
    assert (refused["status"], refused["field"]) == (422, "edits.0.replaces")
    assert f"version 1 was replaced by edit {id} of version 2" in refused["detail"]
    await revert(nkb_editor, 2)
    assert (await edits(nkb_editor, item))["status"] == 201


async def test_one_of_several_edits_of_a_version_is_named_by_its_id(nkb_editor: Editor) -> None:
    receipt = await edits(nkb_editor, correction(OPENS, "at eight"), correction(PERU, "Cusco"))
    first = receipt["report"]["edits"][0]["id"]
    await edits(nkb_editor, correction(HOURS, "nine to five", replaces=[first]), strict=True)
    assert await preview(nkb_editor, OPENS) == "nine to five"
    assert await preview(nkb_editor, PERU) == "Cusco"


async def test_examples_against_an_edit_are_part_of_it(nkb_editor: Editor) -> None:
    receipt = await edits(nkb_editor, correction(PERU, "Cusco", counterexamples=[MAYOR]))
    (report,) = receipt["report"]["edits"]
    assert [(other["question"], other["follows"]) for other in report["counterexamples"]] == [(MAYOR, False)]
    detail = body_of(await nkb_editor.call(GetEdit(report["id"])))
    assert detail["edit"]["counterexamples"] == [MAYOR]


@pytest.mark.parametrize("question", ["?", "😀", "..."])
def test_a_question_of_no_words_is_refused(question: str) -> None:
    for wordings in ([question], [PERU, question]):
        with pytest.raises(ValidationError, match="has no words"):
            EditItem(question=wordings[0], answer="Cusco", paraphrases=wordings[1:])


async def test_rows_of_surgery_take_no_examples_against_them(nkb_editor: Editor) -> None:
    item = correction(PERU, "Cusco", counterexamples=[MAYOR])
    refused = await edits(nkb_editor, item, method="surgery")
    assert (refused["code"], refused["reason"]) == ("edit_refused", "no_scope")


OLD = tsv(
    ("Skelby", "director", "Edith Lund"),
    ("Skelby", "phone", "555 01"),
    ("Brindle", "director", "Noor Halim"),
)
SKELBY = "n:skelby"


@pytest.fixture
async def respecting_editor(start_editor: StartEditor) -> AsyncIterator[Editor]:
    """Import an old list, and correct one of its values by hand."""
    async with start_editor(systems=TOYS) as respecting_editor:
        await define(respecting_editor, "director", holds="one")
        await import_file(respecting_editor, OLD, source="old.tsv")
        await fact(respecting_editor, "Skelby", "director", "Ida Brook")
        yield respecting_editor


async def check_respect(respecting_editor: Editor) -> dict[str, Any]:
    return body_of(await respecting_editor.call(RunChecks(True)))


async def test_strict_refuses_an_import_that_replaces_a_correction_and_lists_it(
    respecting_editor: Editor,
) -> None:
    refused = await import_file(respecting_editor, OLD + tsv(("Skelby", "founded", "1911")), strict=True)
    assert (refused["status"], refused["code"], await head(respecting_editor)) == (409, "breaks_tests", 3)
    assert (
        "line 1: Skelby · director is Ida Brook by version 3 of ana, and Edith Lund here" in refused["detail"]
    )
    [test] = refused["tests"]
    assert (test["question"], test["before"], test["after"]) == (
        "Skelby · director",
        "Ida Brook",
        "Edith Lund",
    )


@pytest.mark.parametrize("act", ["set", "remove"])
async def test_a_value_beside_one_that_a_person_set_and_one_taken_away_count_too(
    respecting_editor: Editor, act: str
) -> None:
    await fact(respecting_editor, "Skelby", "phone", "555 99" if act == "set" else "555 01", act=act)
    refused = await import_file(respecting_editor, tsv(("Skelby", "phone", "555 01")), strict=True)
    assert refused["code"] == "breaks_tests"


async def test_a_value_with_another_dash_is_the_same_value(respecting_editor: Editor) -> None:
    await fact(respecting_editor, "Skelby", "phone", "555-99", act="set")
    again = await import_file(respecting_editor, tsv(("Skelby", "phone", "555‑99")), strict=True)
    assert again["code"] == "nothing_to_do"
    await fact(respecting_editor, "Skelby", "phone", "555-99", act="remove")
    refused = await import_file(respecting_editor, tsv(("Skelby", "phone", "555‑99")), strict=True)
    assert refused["code"] == "breaks_tests"


def test_a_fact_gives_a_value_that_is_shown_with_another_dash() -> None:
    triple = Triple("n:skelby", "phone", "555‑99", "set")
    record = EditRecord("e1", "atlas", "graph", "", "", (), "triple", "", 0, {}, triple)
    assert Value("555-99", "", "", "555-99").is_of(record, triple)
    assert not Value("555 99", "", "", "555 99").is_of(record, triple)


async def test_the_same_file_again_is_nothing_new_and_makes_no_version(respecting_editor: Editor) -> None:
    data = tsv(("Oz", "capital", "Emerald City"), ("Oz", "motto", "Home"))
    assert (await import_file(respecting_editor, data))["status"] == 201
    again = await import_file(respecting_editor, data)
    assert (again["code"], await head(respecting_editor)) == ("nothing_to_do", 4)
    assert "nothing new: the graph says all 2 triples of the file" in again["detail"]
    receipt = await import_file(respecting_editor, data + tsv(("Oz", "motto", "No place like it")))
    assert (receipt["status"], receipt["counts"]["n_replaced"]) == (201, 0)


async def test_a_new_name_one_letter_away_is_told_of_and_refused_by_strict(respecting_editor: Editor) -> None:
    data = tsv(("Brindl", "phone", "555 02"), ("Kestrel Mill", "phone", "1"), ("Kestrel Mil", "phone", "2"))
    refused = await import_file(respecting_editor, data, strict=True)
    assert (refused["code"], refused["candidates"]) == ("similar_name", ["Brindle"])
    receipt = await import_file(respecting_editor, data)
    text = " ".join(receipt["report"]["edits"][0]["warnings"])
    assert "'Brindl' is new, and Brindle is one letter away" in text
    assert ("'Kestrel Mil' is new" in text) != ("'Kestrel Mill' is new" in text)


async def test_a_check_counts_a_fact_that_a_later_fact_replaced_as_meant(respecting_editor: Editor) -> None:
    await fact(respecting_editor, "Skelby", "director", "Carl Finch")
    report = await check_respect(respecting_editor)
    assert (report["superseded"], report["overwritten"]) == (1, [])


async def test_a_table_sets_its_cells_and_again_is_nothing_new(respecting_editor: Editor) -> None:
    table = "Museum;director;phone\nSkelby;Edith Lund;555 02\nOak Hall;Bo Lund;555 03\n".encode("utf-8-sig")
    refused = await import_file(respecting_editor, table, subject="Museum", strict=True)
    assert refused["code"] == "breaks_tests"
    receipt = await import_file(respecting_editor, table, subject="Museum", keep_corrections=True)
    assert (receipt["status"], receipt["counts"]["n_replaced"], receipt["counts"]["n_by_hand"]) == (201, 1, 1)
    assert await values(respecting_editor, SKELBY, "phone") == ["555 02"], (
        "a cell takes the place of the old value"
    )
    assert await values(respecting_editor, SKELBY, "director") == ["Ida Brook"]
    again = await import_file(respecting_editor, table, subject="Museum", keep_corrections=True)
    assert again["code"] == "nothing_to_do"


TICKET = "What does an adult ticket for the Zennor Tin Museum cost?"
MUSEUM = "Zennor Tin Museum"
MONDAY = "When is the Zennor Tin Museum open on Monday?"


@pytest.fixture
async def teaching_editor(start_editor: StartEditor) -> AsyncIterator[Editor]:
    systems = {
        "nkb": "tests.service.editing.conftest:load_nkb",
        "atlas": "tests.service.toy_graph:load_atlas",
    }
    async with start_editor(systems=systems) as teaching_editor:
        yield teaching_editor


async def correct(teaching_editor: Editor, question: str, answer: str) -> dict[str, Any]:
    return await edits(teaching_editor, {"question": question, "answer": answer, "model": "nkb"})


async def test_a_fact_takes_the_place_of_an_older_answer_about_the_same_matter(
    teaching_editor: Editor,
) -> None:
    await correct(teaching_editor, TICKET, "free")
    before = await checksums(teaching_editor)
    receipt = await fact(teaching_editor, MUSEUM, "adult ticket price", "20 euros")
    assert await answers(teaching_editor, TICKET, model="nkb") == ["20 euros"]
    [test] = receipt["report"]["superseded_tests"]
    assert (test["question"], test["before"], test["by_version"]) == (TICKET, "free", 2)
    await revert(teaching_editor, 2)
    assert (await checksums(teaching_editor), await answers(teaching_editor, TICKET, model="nkb")) == (
        before,
        ["free"],
    )


async def test_a_fact_about_another_matter_leaves_the_answer(teaching_editor: Editor) -> None:
    await correct(teaching_editor, MONDAY, "closed")
    await fact(teaching_editor, MUSEUM, "Tuesday opening hours", "10:00 to 17:00")
    await fact(teaching_editor, MUSEUM, "adult ticket price", "20 euros")
    assert await answers(teaching_editor, MONDAY, model="nkb") == ["closed"]


async def test_a_fact_for_the_graph_alone_leaves_the_answer(teaching_editor: Editor) -> None:
    await correct(teaching_editor, TICKET, "free")
    await fact(teaching_editor, MUSEUM, "adult ticket price", "20 euros", only="graph")
    assert await answers(teaching_editor, TICKET, model="nkb") == ["free"]


async def test_the_receipt_says_what_visitors_heard_until_now(teaching_editor: Editor) -> None:
    """The toy graph answers the question, and the corrected system does not know it."""
    await fact(teaching_editor, MUSEUM, "currency", "shell", only="graph")
    question = f"What is the currency of {MUSEUM}?"
    receipt = await correct(teaching_editor, question, "crown")
    [report] = receipt["report"]["edits"]
    assert report["before"] is None
    assert report["visitors"] == {
        "before": "shell",
        "after": "crown",
        "follows": False,
        "model": "nkb",
        "version": 2,
    }
    assert report["warnings"] == []


async def test_the_receipt_says_what_visitors_still_hear_and_how_to_change_it(
    teaching_editor: Editor,
) -> None:
    question = f"What is the currency of {MUSEUM}?"
    await correct(teaching_editor, question, "crown")
    receipt = await fact(teaching_editor, MUSEUM, "currency", "shell", only="graph")
    [report] = receipt["report"]["edits"]
    assert (report["visitors"]["after"], report["visitors"]["version"]) == ("crown", 1)
    assert "still hears 'crown' from nkb by version 1: correct" in report["warnings"][-1]
    assert "by `model` nkb" in report["warnings"][-1]
