"""The place of a mistake leads through the JSON that was sent, and has no part of pydantic's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from errata.wire import EditRequest, Request
from errata.wire.mistakes import locate, point_out
from pydantic import ValidationError

from service.http.openai.requests import ChatRequest, ResponseRequest

WRONG: list[Any] = [{}, [], "", 0, -1, 1.5, True, [{}], [""], [[]], [None], {"x": {}}, ["a", ""]]
FACT = {"subject": "Peru", "relation": "capital"}


def list_kinds(kind: type[Request]) -> Iterator[type[Request]]:
    for other in kind.__subclasses__():
        yield other
        yield from list_kinds(other)


def list_mistakes(kind: type[Request], body: Any) -> list[Any]:
    try:
        kind.model_validate_json(json.dumps(body))
    except ValidationError as error:
        return [*error.errors()]
    return []


def leads_through(body: Any, names: list[str]) -> bool:
    """Return whether each part but a last one, which may be missing, is in the body."""
    for name in names[:-1]:
        if isinstance(body, list):
            body = body[int(name)]
        elif isinstance(body, dict) and name in body:
            body = body[name]
        else:
            return False
    return not names or isinstance(body, dict) or (isinstance(body, list) and int(names[-1]) < len(body))


KINDS = sorted({*list_kinds(Request), ChatRequest, ResponseRequest}, key=lambda kind: kind.__qualname__)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__qualname__)
def test_every_mistake_of_a_request_has_a_place_in_it(kind: type[Request]) -> None:
    for field in kind.model_fields:
        for value in WRONG:
            body = {field: value}
            for mistake in list_mistakes(kind, body):
                assert leads_through(body, locate(mistake)), (body, mistake)


@pytest.mark.parametrize(
    ("kind", "body", "pointers"),
    [
        (ChatRequest, {"stop": ""}, {"#/stop"}),
        (ChatRequest, {"stop": ["a", ""]}, {"#/stop"}),
        (EditRequest, {"edits": [{**FACT, "fact": 1}]}, {"#/edits/0/object", "#/edits/0/fact"}),
        (EditRequest, {"edits": [{"memory": "m", "change": 1}]}, {"#/edits/0/change", "#/edits/0/kind"}),
        (
            EditRequest,
            {"edits": [{"question": "q", "correction": 1}]},
            {"#/edits/0/answer", "#/edits/0/correction"},
        ),
    ],
)
def test_a_field_is_named_as_it_was_sent(kind: type[Request], body: Any, pointers: set[str]) -> None:
    fields = {"model": "m", "messages": [{"role": "user", "content": "q"}]} if kind is ChatRequest else {}
    places = {point_out(mistake).pointer for mistake in list_mistakes(kind, {**fields, **body})}
    assert places == pointers
