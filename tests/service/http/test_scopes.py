"""The scope of every route, by name: a route that is added has to be added here, or this fails."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI

from service.access.caller import ALL_SCOPES, Scope
from service.config import Settings
from service.editing.deployment import Editor
from service.http.app import build_app
from tests.service.http.conftest import local_editor, local_router

# No key at all: what a load balancer and Prometheus ask.
NONE = {("get", "/healthz"), ("get", "/readyz"), ("get", "/metrics")}
# A key, whatever it may do: what tells its owner just that.
ANY = {("get", "/admin/keys/self")}
SCOPES: dict[tuple[str, str], Scope] = {
    ("post", "/v1/answers"): "ask",
    ("get", "/v1/answers"): "ask",
    ("post", "/v1/answers/batch"): "ask",
    ("post", "/v1/chat/completions"): "ask",
    ("get", "/v1/models"): "ask",
    ("get", "/v1/models/{id}"): "ask",
    ("get", "/v1/memory"): "ask",
    ("get", "/v1/entities"): "ask",
    ("get", "/v1/entities/{id}"): "ask",
    ("get", "/admin/versions"): "read",
    ("get", "/admin/versions/{version}"): "read",
    ("get", "/admin/diff"): "read",
    ("get", "/admin/checks"): "read",
    ("get", "/admin/replicas"): "read",
    ("get", "/admin/tags"): "read",
    ("put", "/admin/tags/{name}"): "edit",
    ("delete", "/admin/tags/{name}"): "edit",
    ("post", "/admin/edits"): "edit",
    ("post", "/admin/reverts"): "edit",
    ("post", "/admin/rollbacks"): "edit",
    ("post", "/admin/checks"): "edit",
    ("post", "/admin/graph/import"): "edit",
    ("get", "/admin/keys"): "admin",
    ("post", "/admin/keys"): "admin",
    ("post", "/admin/keys/{name}/rotations"): "admin",
    ("delete", "/admin/keys/{name}"): "admin",
    ("get", "/admin/audit"): "admin",
    ("get", "/admin/export"): "admin",
    ("post", "/admin/import"): "admin",
}


@pytest.fixture
async def elsewhere(chosen: Settings, editor: Editor) -> AsyncIterator[FastAPI]:
    """As where others can connect: asking needs a key too."""
    app = build_app(
        chosen.model_copy(update={"anonymous_access": "none"}), local_router({}), local_editor(editor)
    )
    yield app
    await app.state.access.aclose()


@pytest.fixture
async def client(elsewhere: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=elsewhere, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://errata") as client:
        yield client


def test_every_documented_route_is_in_the_table(app: FastAPI) -> None:
    documented = {(verb, path) for path, verbs in app.openapi()["paths"].items() for verb in verbs}
    assert documented == NONE | ANY | SCOPES.keys()


@pytest.mark.parametrize(("verb", "path"), sorted(SCOPES))
async def test_a_route_lets_in_its_own_scope_alone(
    elsewhere: FastAPI, client: httpx.AsyncClient, verb: str, path: str
) -> None:
    address = path.replace("{version}", "1").replace("{name}", "x").replace("{id}", "x")
    register = elsewhere.state.access.keys
    assert (await client.request(verb, address)).status_code == 401
    for scope in ALL_SCOPES:
        _, key = await register.issue(f"{scope}-only", (scope,), None, "admin")
        reply = await client.request(verb, address, headers={"authorization": f"Bearer {key}"})
        refused = reply.status_code == 403
        assert refused == (scope != SCOPES[verb, path]), (scope, reply.text)
        assert not refused or f"lacks the scope {SCOPES[verb, path]!r}" in reply.text


@pytest.mark.parametrize(("verb", "path"), sorted(ANY))
async def test_a_key_of_any_scope_is_told_what_it_may_do(
    elsewhere: FastAPI, client: httpx.AsyncClient, verb: str, path: str
) -> None:
    assert (await client.request(verb, path)).status_code == 401
    for scope in ALL_SCOPES:
        _, key = await elsewhere.state.access.keys.issue(f"{scope}-only", (scope,), None, "admin")
        reply = await client.request(verb, path, headers={"authorization": f"Bearer {key}"})
        assert (reply.status_code, reply.json()["scopes"]) == (200, [scope])


@pytest.mark.parametrize(("verb", "path"), sorted(NONE))
async def test_whoever_watches_the_service_needs_no_key(
    client: httpx.AsyncClient, verb: str, path: str
) -> None:
    assert (await client.request(verb, path)).status_code in (200, 503)


def test_asking_is_open_where_nobody_else_can_connect(chosen: Settings) -> None:
    def opens(**more: str) -> bool:
        return Settings.model_validate({**chosen.model_dump(), **more}).open_to_all

    assert [opens(host=host) for host in ("127.0.0.1", "::1", "localhost")] == [True] * 3
    assert [opens(host=host) for host in ("0.0.0.0", "::", "10.0.0.7", "errata.example")] == [False] * 4
    assert opens(host="0.0.0.0", anonymous_access="everyone")
    assert not opens(host="127.0.0.1", anonymous_access="none")
