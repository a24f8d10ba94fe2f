"""Every route of the OpenAPI document refuses what it cannot read in one way, and nothing has changed."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import pytest_asyncio
from errata.wire import Problem
from fastapi import FastAPI

from tests.service.http.conftest import JSON, SHARED_LOOP

pytestmark = SHARED_LOOP

OPENAI = {"/v1/chat/completions", "/v1/responses"}  # refuse in OpenAI's form, where 422 is 400
VERBS = {"get", "post", "put", "patch", "delete"}
LIMITS = {  # bytes of a body
    "/v1/answers": 1_000_000,
    "/v1/answers/batch": 1_000_000,
    **dict.fromkeys(OPENAI, 1_000_000),
    "/v1/documents/{id}": 6_100_000,
    "/admin/edits": 20_000_000,
    "/admin/proposals": 1_000_000,
}
NUMBERS = {"integer", "number", "boolean"}
NOT_A_VALUE: Mapping[str, tuple[Any, ...]] = {  # by the type of a field of a body
    "string": (7, ["x"]),
    "integer": ("1", True),
    "array": ("x", {"x": 1}),
    "boolean": ("yes",),
    "number": ("1",),
}


@dataclass(frozen=True)
class Route:
    """A route as the document has it."""

    verb: str
    path: str
    operation: Mapping[str, Any]

    @property
    def address(self) -> str:
        return re.sub(r"{\w+}", "1", self.path)

    @property
    def bodies(self) -> Mapping[str, Any]:
        return self.operation.get("requestBody", {}).get("content", {})

    def parameters(self, place: str) -> list[dict[str, Any]]:
        return [row for row in self.operation.get("parameters", []) if row["in"] == place]


def routes(app: FastAPI) -> Iterator[Route]:
    for path, verbs in app.openapi()["paths"].items():
        for verb, operation in verbs.items():
            yield Route(verb, path, operation)


def find_json_routes(app: FastAPI) -> list[Route]:
    return [route for route in routes(app) if "application/json" in route.bodies]


def refused(reply: httpx.Response, status: int, code: str, *where: object) -> str:
    """Check a refusal; return its sentence."""
    if reply.url.path in OPENAI:
        error = reply.json()["error"]
        assert (reply.status_code, error["code"]) == (400 if status == 422 else status, code), (where, error)
        return str(error["message"])
    assert (reply.status_code, reply.json().get("code")) == (status, code), (where, reply.text)
    assert reply.headers["content-type"] == "application/problem+json", where
    problem = Problem.model_validate_json(reply.content)
    assert problem.status == status, where
    assert len(problem.detail) > 10, where
    return problem.detail


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def nothing_has_changed(shared_http: httpx.AsyncClient) -> AsyncIterator[None]:
    yield
    assert (await shared_http.get("/admin/versions")).json() == {
        "versions": [],
        "head": 0,
        "edits_by_day": {},
    }


@pytest.mark.parametrize(
    ("content", "status", "code", "names"),
    [
        (b"", 400, "malformed_json", "JSON"),
        (b"{", 400, "malformed_json", "JSON"),
        (b"\xff\xfe\x00", 400, "malformed_json", "JSON"),
        (b'{"question": "\\ud800"}', 400, "malformed_json", "JSON"),
        (b"[]", 422, "invalid_input", "object"),
        (b"null", 422, "invalid_input", "object"),
        (b'"Who?"', 422, "invalid_input", "object"),
        (b'{"modle": "toy"}', 422, "invalid_input", "modle"),
        (b"[" * 600_000, 413, "too_large", "may have"),
        (b'""' * 600_000, 413, "too_large", "may have"),
    ],
    ids=lambda value: value[:20] if isinstance(value, bytes) else "",
)
async def test_a_bad_body(
    shared_app: FastAPI, shared_http: httpx.AsyncClient, content: bytes, status: int, code: str, names: str
) -> None:
    for route in find_json_routes(shared_app):
        reply = await shared_http.request(route.verb, route.address, content=content, headers=JSON)
        assert names in refused(reply, status, code, route.verb, route.path), route.path


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "", "text/json", "application/jso"]
)
async def test_a_body_of_another_kind(shared_app: FastAPI, shared_http: httpx.AsyncClient, kind: str) -> None:
    """A page may send another kind to any address without asking first."""
    for route in find_json_routes(shared_app):
        if kind not in route.bodies:
            headers = {"content-type": kind} if kind else {}
            reply = await shared_http.request(route.verb, route.address, content=b"{}", headers=headers)
            detail = refused(reply, 415, "unsupported_media_type", route.path)
            assert "application/json" in detail, route.path


async def test_a_body_that_is_too_large_is_not_read(
    shared_app: FastAPI, shared_http: httpx.AsyncClient
) -> None:
    for route in find_json_routes(shared_app):
        n_bytes = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal n_bytes
            while n_bytes < 50_000_000:
                n_bytes += 100_000
                yield b" " * 100_000

        reply = await shared_http.request(route.verb, route.address, content=endless(), headers=JSON)
        detail = refused(reply, 413, "too_large", route.path)
        limit = LIMITS.get(route.path, 16_000)
        assert f"{limit:,} bytes" in detail, route.path
        assert n_bytes <= limit + 200_000, route.path
        at_once = await shared_http.request(
            route.verb, route.address, content=b" " * (limit + 1), headers=JSON
        )
        refused(at_once, 413, "too_large", route.path)


def break_bounds(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[Any]:
    """Yield values that a schema forbids: no number, beyond a bound, or a word that is not listed."""
    kinds = schema.get("anyOf", [schema])
    for kind in [kind | schemas.get(kind.get("$ref", "").rpartition("/")[2], {}) for kind in kinds]:
        if kind.get("type") in NUMBERS or "enum" in kind:
            yield "perhaps"
        if "minimum" in kind:
            yield kind["minimum"] - 1
        if "maximum" in kind:
            yield kind["maximum"] + 1
        if "maxLength" in kind:
            yield "x" * (kind["maxLength"] + 1)
        if "minItems" in kind:
            yield []
        if "maxItems" in kind:
            yield ["x"] * (kind["maxItems"] + 1)


def break_type(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield values of other types than a field of one type has."""
    types = {kind.get("type") for kind in schema.get("anyOf", [schema])}
    [kind, *further_kinds] = sorted(map(str, types - {"null"}))
    if not further_kinds and kind in NOT_A_VALUE:
        yield from NOT_A_VALUE[kind]
        yield from () if "null" in types else (None,)


async def test_a_bad_field(shared_app: FastAPI, shared_http: httpx.AsyncClient) -> None:
    """Each field of each body in turn, in the example of the document."""
    schemas, n_sent = shared_app.openapi()["components"]["schemas"], 0
    for route in find_json_routes(shared_app):
        content = route.bodies["application/json"]
        kind, example = schemas[content["schema"]["$ref"].rpartition("/")[2]], content["example"]
        bodies = [
            (name, {field: example[field] for field in example if field != name})
            for name in kind.get("required", ())
        ]
        bodies += [
            (name, {**example, name: value})
            for name, schema in kind["properties"].items()
            for value in (*break_bounds(schema, schemas), *break_type(schema))
        ]
        for name, body in bodies:
            reply = await shared_http.request(route.verb, route.address, json=body)
            is_large = reply.status_code == 413
            status, code = (413, "too_large") if is_large else (422, "invalid_input")
            detail = refused(reply, status, code, route.path, name)
            assert name in detail or (is_large and "parts" in detail), (route.path, name)
            n_sent += 1
    assert n_sent > 100


async def test_a_bad_parameter(shared_app: FastAPI, shared_http: httpx.AsyncClient) -> None:
    n_asked = 0
    for route in routes(shared_app):
        required = {row["name"]: "1" for row in route.parameters("query") if row.get("required")}
        for name in required:
            query = {other: "1" for other in required if other != name}
            reply = await shared_http.request(route.verb, route.address, params=query)
            assert name in refused(reply, 422, "invalid_input", route.verb, route.path, query)
        for parameter in route.parameters("query"):
            for value in break_bounds(parameter["schema"], {}):
                query = {**required, parameter["name"]: value}
                reply = await shared_http.request(route.verb, route.address, params=query)
                detail = refused(reply, 422, "invalid_input", route.verb, route.path, query)
                assert parameter["name"] in detail
                n_asked += 1
        for parameter in route.parameters("path"):
            if parameter["schema"].get("type") == "integer":
                for value in break_bounds(parameter["schema"], {}):
                    address = route.path.replace(f"{{{parameter['name']}}}", str(value))
                    reply = await shared_http.request(route.verb, address, content=b"{}", headers=JSON)
                    refused(reply, 422, "invalid_input", address)
                    n_asked += 1
    assert n_asked > 50


async def test_a_verb_that_is_not_there(shared_app: FastAPI, shared_http: httpx.AsyncClient) -> None:
    for address in {route.address for route in routes(shared_app)}:
        verbs = {
            route.verb
            for route in routes(shared_app)
            if re.fullmatch(re.sub(r"{\w+}", "[^/]+", route.path), address)
        }
        for verb in VERBS - verbs:
            reply = await shared_http.request(verb, address)
            refused(reply, 405, "method_not_allowed", verb, address)
            assert {name.lower() for name in reply.headers["allow"].split(", ")} <= verbs | {"head"}


@pytest.mark.parametrize("path", ["/v1/nothing", "/admin/nothing", "/nothing"])
async def test_an_address_that_is_not_there(shared_http: httpx.AsyncClient, path: str) -> None:
    reply = await shared_http.get(path)
    refused(reply, 404, "not_found", path)
    assert "errors" not in reply.json()
