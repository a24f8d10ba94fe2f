"""Documents follow from their active edits alone, and changes without effect are refused when they are made.

A curator's fields are checked one by one, and an error is one line.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from models.blocks import Image
from models.documents.document import Document
from models.documents.fields import DocumentFields
from models.documents.memory import DocumentsView, Texts
from models.memory import EditRefused, FieldsChange, Material, Options

TEXT = "The mill was built in 1820. It burnt down in 1904."


def put(id: str = "mill", text: str = TEXT, **fields: object) -> DocumentFields:
    return DocumentFields.model_validate({"id": id, "text": text, **fields})


def append(text: str, id: str = "mill") -> DocumentFields:
    return DocumentFields(id=id, action="append", text=text)


def correct(old: str, new: str, id: str = "mill") -> DocumentFields:
    return DocumentFields(id=id, action="replace", old=old, new=new)


def remove(id: str = "mill") -> DocumentFields:
    return DocumentFields(id=id, action="remove")


def build(memory: Texts, *fields: DocumentFields) -> list[Material]:
    changes = [FieldsChange(f"e{place}", "document", item) for place, item in enumerate(fields)]
    materials = memory.build(changes, Options())
    results = []
    for place, material in enumerate(materials):
        assert isinstance(material, Material)
        block = material.block
        results.append(
            Material(
                material.edit,
                material.method,
                type(block)(block.key, place, block.header, block.body, block.sha256),
            )
        )
    return results


def view(*fields: DocumentFields) -> DocumentsView:
    memory = Texts()
    return memory.view(memory.fold(build(memory, *fields)))


def test_a_document_is_what_its_edits_make_of_it_in_order() -> None:
    documents = view(
        put(title="The mill", media_type="text/markdown"),
        append("\nIt stands again."),
        correct("1820", "1822"),
        put("b", "x"),
    )
    assert dict(documents) == {
        "b": Document("x", "", "text/plain", ("e3",)),
        "mill": Document(
            TEXT.replace("1820", "1822") + "\nIt stands again.",
            "The mill",
            "text/markdown",
            ("e0", "e1", "e2"),
        ),
    }
    assert documents["b"].digest == "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"


def test_what_is_put_anew_forgets_what_was_there() -> None:
    assert view(put(title="Old"), append("more"), put(text="new"))["mill"] == Document(
        "new", "", "text/plain", ("e2",)
    )
    assert dict(view(put(), remove())) == {}
    assert view(put(), remove(), put(text="new"))["mill"].edits == ("e2",)


@pytest.mark.parametrize("old", ["1821", "in "])
def test_a_correction_that_finds_nothing_or_two_places_has_no_effect(old: str) -> None:
    assert view(put(), correct(old, "at")) == view(put())


def test_what_is_not_there_is_neither_extended_nor_corrected() -> None:
    assert dict(view(append("x"), correct("x", "y"), remove())) == {}


WORDS = st.text(alphabet="ab \n\u00e9\U0001f40d", min_size=1, max_size=4).filter(str.strip)
IDS = st.sampled_from(["a", "b"])
CHANGES = st.one_of(
    st.builds(put, IDS, WORDS),
    st.builds(append, WORDS, IDS),
    st.builds(correct, WORDS, WORDS, IDS),
    st.builds(remove, IDS),
)


@given(st.lists(CHANGES, max_size=12), st.data())
def test_what_is_taken_back_leaves_what_would_be_there_without_it(
    changes: list[DocumentFields], data: st.DataObject
) -> None:
    memory, fresh = Texts(), Texts()
    materials = build(memory, *changes)
    whole = memory.fold(materials)
    memory.view(whole)
    active = data.draw(st.lists(st.sampled_from(materials), unique_by=lambda m: m.edit)) if materials else []
    ledger_order = sorted(active, key=lambda material: material.block.order)
    after = whole.apply(whole.delta_to(memory.fold(active)))
    never_made = fresh.fold(ledger_order)
    assert after.checksum == never_made.checksum
    assert memory.view(after) == fresh.view(never_made)
    assert {key: block.encoded for key, block in after.blocks.items()} == {
        key: block.encoded for key, block in never_made.blocks.items()
    }


def test_views_share_the_documents_that_do_not_change() -> None:
    memory = Texts()
    materials = build(memory, put("a", "x"), put("b", "y"), append("z", "b"))
    before, after = (memory.view(memory.fold(materials[:count])) for count in (2, 3))
    assert before["a"] is after["a"]
    assert after["b"].text == "yz"


def check(fields: DocumentFields, *earlier: DocumentFields) -> EditRefused | None:
    return Texts().check(fields, view(*earlier))


@pytest.mark.parametrize(
    ("fields", "code", "detail"),
    [
        (append("x", "hill"), "not_found", "there is no document 'hill'"),
        (correct("x", "y", "hill"), "not_found", "there is no document 'hill'"),
        (remove("hill"), "not_found", "there is no document 'hill'"),
        (correct("1821", "1822"), "absent", "does not stand in 'mill'"),
        (correct(" in ", " at "), "several", "stands in 'mill' 2 times or more"),
        (correct(TEXT, " "), "empty", "nothing would be left of 'mill'"),
        (append("x" * 999_990), "too_long", "'mill' would have 1,000,040 characters; 1,000,000 is the most"),
    ],
)
def test_what_has_no_effect_on_this_version_is_refused_in_words(
    fields: DocumentFields, code: str, detail: str
) -> None:
    refusal = check(fields, put())
    assert refusal is not None
    assert refusal.code == code
    assert detail in refusal.detail


@pytest.mark.parametrize(
    "fields", [put(), append(" More."), correct("1820", "1822"), correct("1820. ", ""), remove()]
)
def test_what_has_an_effect_is_not_refused(fields: DocumentFields) -> None:
    assert check(fields, put()) is None


@pytest.mark.parametrize(
    ("fields", "code", "detail"),
    [
        (put(text=" \n"), "empty", "the text of 'mill' is empty"),
        (append(""), "empty", "the text of 'mill' is empty"),
        (correct(" ", "x"), "empty", "the text to correct is empty"),
        (put(text="PK\x03\x04\x00"), "binary", "U+0003 as character 3"),
        (correct("x", "\x00"), "binary", "U+0000 as character 1"),
        (put(text="%PDF-1.7 ..."), "not_read", "this is PDF and no text"),
        (put(text="\n<!DOCTYPE html><p>x"), "not_read", "this is HTML"),
        (put(text="<html lang=en>"), "not_read", "this is HTML"),
    ],
)
def test_what_is_no_text_is_refused_in_words(fields: DocumentFields, code: str, detail: str) -> None:
    [refusal] = Texts().build([FieldsChange("e", "document", fields)], Options())
    assert isinstance(refusal, EditRefused)
    assert refusal.code == code
    assert detail in refusal.detail


def test_what_it_holds_is_said_in_words() -> None:
    memory = Texts()

    def words(*fields: DocumentFields) -> tuple[str, ...]:
        return memory.usage(memory.fold(build(memory, *fields))).warnings

    assert words() == ()
    assert words(put("a", "x")) == ("documents/texts holds 1 document with 1 character",)
    assert words(put("a", "x" * 1_200), put("b", "y"), append("z", "b"), put("c", "x"), remove("c")) == (
        "documents/texts holds 2 documents with 1,202 characters",
    )
    assert memory.usage(Image(memory.base.base)).slots_used == 0


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"id": "a b", "text": "x"}, "String should match pattern"),
        ({"id": "../etc", "text": "x"}, "String should match pattern"),
        ({"id": "x" * 129, "text": "x"}, "String should match pattern"),
        ({"id": "a"}, "put needs `text`"),
        ({"id": "a", "action": "append"}, "append needs `text`"),
        ({"id": "a", "action": "replace", "old": "x"}, "replace needs `new`"),
        ({"id": "a", "action": "remove", "text": "x"}, "remove takes no `text`"),
        ({"id": "a", "action": "append", "text": "x", "title": "t"}, "append takes no `title`"),
        ({"id": "a", "text": "x" * 1_000_001}, "at most 1000000 characters"),
        ({"id": "a", "text": "x", "media_type": "text/html"}, "'text/plain' or 'text/markdown'"),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, Any], detail: str) -> None:
    with pytest.raises(ValidationError, match=detail):
        DocumentFields.model_validate(fields)


def test_a_correction_may_delete() -> None:
    assert DocumentFields(id="a", action="replace", old="x", new="").new == ""


@pytest.mark.parametrize(
    ("fields", "summary"),
    [
        ({"id": "a", "text": "One\n two"}, "put document 'a': 8 characters, 'One two'"),
        ({"id": "a", "action": "append", "text": "x"}, "append to document 'a': 1 character, 'x'"),
        (
            {"id": "a", "action": "replace", "old": "1820", "new": "1822"},
            "correct document 'a': '1820' -> '1822'",
        ),
        ({"id": "a", "action": "remove"}, "remove document 'a'"),
        ({"id": "a", "text": "x" * 1_000}, f"put document 'a': 1,000 characters, '{'x' * 80}…'"),
    ],
)
def test_a_change_is_one_line_of_words(fields: dict[str, Any], summary: str) -> None:
    assert DocumentFields.model_validate(fields).summarize() == summary


def test_the_log_keeps_the_beginning_of_a_long_text() -> None:
    fields = DocumentFields(id="a", text="x" * 1_000, title="T")
    assert fields.outline() == {"id": "a", "text": "x" * 80 + "…", "title": "T"}
