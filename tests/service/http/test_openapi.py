"""The documentation lists the problems that a route can answer with, and none that it cannot."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
from fastapi import FastAPI

from service.http.openapi import FIELDS
from tests.service.http.conftest import KEY, SHARED_LOOP
from tests.service.test_loading import EXPECTED

pytestmark = SHARED_LOOP

READS_A_BODY = {400, 408, 413, 415, 422}
EXCEPTIONS = {
    "/v1/chat/completions": {422},  # in OpenAI's form, where it is 400
    "/v1/responses": {422},
    "/admin/import": {400, 415},  # a file that is not JSON
    "/admin/graph/import": {415},  # a file that is not JSON
}


def statuses(app: FastAPI, verb: str, path: str) -> set[int]:
    return {int(status) for status in app.openapi()["paths"][path][verb]["responses"]}


async def test_whoever_reads_a_body_says_what_can_be_wrong_with_it(shared_app: FastAPI) -> None:
    for path, verbs in shared_app.openapi()["paths"].items():
        for verb, operation in verbs.items():
            if "requestBody" in operation:
                missing = READS_A_BODY - statuses(shared_app, verb, path)
                assert missing == EXCEPTIONS.get(path, set()), path


async def test_no_problem_is_listed_that_the_service_does_not_have(shared_app: FastAPI) -> None:
    statuses_in_use = {
        status
        for path, verbs in shared_app.openapi()["paths"].items()
        for verb in verbs
        for status in statuses(shared_app, verb, path)
    }
    assert {status for status in statuses_in_use if status >= 400} <= set(EXPECTED.values())


async def test_the_documentation_is_read_without_the_internet(shared_http: httpx.AsyncClient) -> None:
    page = await shared_http.get("/", follow_redirects=True)
    assert page.url.path == "/docs"
    parts = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(parts) >= 2
    for part in parts:
        assert part.startswith("/"), "it lies here"
        assert (await shared_http.get(part)).status_code == 200


def operations(app: FastAPI) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, verbs in app.openapi()["paths"].items():
        for verb, operation in verbs.items():
            yield f"{verb} {path}", operation


async def test_every_operation_and_parameter_is_described(shared_app: FastAPI) -> None:
    for where, operation in operations(shared_app):
        assert 0 < len(operation["summary"]) < 120, where
        assert operation["description"], where
        for parameter in operation.get("parameters", []):
            assert parameter.get("description"), (where, parameter["name"])


async def test_every_field_is_described(shared_app: FastAPI) -> None:
    missing = [
        f"{name}.{field}"
        for name, schema in shared_app.openapi()["components"]["schemas"].items()
        for field, content in schema.get("properties", {}).items()
        if not content.get("description")
    ]
    assert missing == []


async def test_a_field_is_described_in_one_place(shared_app: FastAPI) -> None:
    """No entry of FIELDS is unused; other fields are described in the docstring of their type."""
    schemas = shared_app.openapi()["components"]["schemas"]
    descriptions = {
        (name, field, content["description"])
        for name, schema in schemas.items()
        for field, content in schema.get("properties", {}).items()
    }
    keys = {
        key
        for name, field, text in descriptions
        for key in (field, f"{name}.{field}")
        if FIELDS.get(key) == text
    }
    assert set(FIELDS) - keys == set()
    assert ("Answer", "edits", "Ids of the edits that the answer rests on.") in descriptions
    assert (
        "RemovedFact",
        "object_id",
        'The entity that is the object, "" for a number or a text.',
    ) in descriptions


async def test_every_body_of_json_has_an_example_that_can_be_sent_as_it_is(
    shared_app: FastAPI, shared_http: httpx.AsyncClient
) -> None:
    key = {"authorization": f"Bearer {KEY}"}
    n_sent = 0
    for where, operation in operations(shared_app):
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if content is None:
            continue
        verb, path = where.split()
        place = re.sub(r"{\w+}", "example", path.replace("{number}", "1"))
        reply = await shared_http.request(verb, place, json=content["example"], headers=key)
        assert reply.status_code not in (400, 422), (where, reply.text)
        n_sent += 1
    assert n_sent >= 9
