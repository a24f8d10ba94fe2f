"""Invisible characters in a text are refused where it comes in."""

from __future__ import annotations

import pytest
from errata.wire import AnswerRequest, EditItem, EditRequest, FactItem, ImportOrder, RelationItem
from pydantic import ValidationError

CONTROLS = [
    "\x00",
    "\x1b[31m",
    "\x07",
    "\x9b",
    "\x7f",
    "a\tb",
    "a\nb",
    "\u202e",
    "\u2066",
    "\u200f",
    "\u061c",
    "\u2028",
    "\u2029",
    "\u200b",
    "\u2060",
    "\U000e0041",
]
ITEM = EditItem(question="Who?", answer="me")


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize(
    ("kind", "field", "fields"),
    [
        (AnswerRequest, "question", {}),
        (AnswerRequest, "model", {"question": "Who?"}),
        (AnswerRequest, "candidates", {"question": "Who?"}),
        (EditItem, "question", {"answer": "me"}),
        (EditItem, "answer", {"question": "Who?"}),
        (EditItem, "paraphrases", {"question": "Who?", "answer": "me"}),
        (FactItem, "subject", {"relation": "capital", "object": "Lima"}),
        (FactItem, "relation", {"subject": "Peru", "object": "Lima"}),
        (FactItem, "object", {"subject": "Peru", "relation": "capital"}),
        (RelationItem, "label", {"define": "capital"}),
        (ImportOrder, "source", {}),
    ],
)
def test_a_control_character_is_refused_and_named(
    control: str, kind: type[AnswerRequest], field: str, fields: dict[str, str]
) -> None:
    text = f"x{control}y"
    with pytest.raises(ValidationError) as refusal:
        kind.model_validate({**fields, field: [text] if field in ("candidates", "paraphrases") else text})
    [mistake] = refusal.value.errors()
    assert mistake["loc"][0] == field
    assert f"the control character U+{ord(control.strip('ab')[0]):04X} as character" in mistake["msg"]


@pytest.mark.parametrize("control", [control for control in CONTROLS if "\n" not in control])
def test_a_message_may_have_lines_and_no_other_control_character(control: str) -> None:
    assert EditRequest(edits=[ITEM], message="why\nand how").message == "why\nand how"
    with pytest.raises(ValidationError, match="control character"):
        EditRequest(edits=[ITEM], message=f"x{control}y")
