"""A memory of blocks is their union, and a text is kept to the byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.blocks import Image
from models.kit.material import UnionMemory, read_text, write_texts
from models.memory import EditRefused, FieldsChange, Material, Options
from models.relational.memory import RuleFields


class Notes(UnionMemory):
    name = "tests/notes"

    def make(self, change: FieldsChange) -> Material:
        if not change.question:
            raise EditRefused("empty", "write something")
        return write_texts(change.id, "note", {"json": change.question}, {"length": len(change.question)})


def change(id: str, text: str) -> FieldsChange:
    return FieldsChange(id, "rule", RuleFields(rule="forbid(E) <= hidden.stay(E)"), text)


def test_a_change_that_cannot_work_is_refused_in_its_place() -> None:
    first, refusal, last = Notes().build([change("a", "x"), change("b", ""), change("c", "y")], Options())
    assert isinstance(refusal, EditRefused)
    assert (first.edit, last.edit, last.notes) == ("a", "c", {"length": 1})


def test_the_state_is_the_union_of_the_blocks_and_undo_leaves_no_trace() -> None:
    memory = Notes()
    materials = [
        m for m in memory.build([change("a", "x"), change("b", "y")], Options()) if isinstance(m, Material)
    ]
    assert memory.fold([]) == memory.base == Image(memory.base.base)
    assert memory.fold(materials).blocks.keys() == {"edit/a", "edit/b"}
    assert (
        memory.fold(materials[:1]).checksum
        == memory.fold(materials).apply(memory.fold(materials).delta_to(memory.fold(materials[:1]))).checksum
    )
    assert memory.usage(memory.fold(materials)).slots_used == 2


@pytest.mark.parametrize("text", ["", "\0", "Zürich 😀"])
@given(second_text=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_is_read_as_it_was_written(text: str, second_text: str) -> None:
    block = write_texts("a", "note", {"one": text, "two": second_text}).block
    assert (read_text(block, "one"), read_text(block, "two")) == (text, second_text)
