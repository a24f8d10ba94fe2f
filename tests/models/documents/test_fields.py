"""A curator's fields are checked one by one, and an error is one line."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from models.documents.fields import DocumentFields


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
