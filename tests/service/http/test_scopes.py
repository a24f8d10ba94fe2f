"""The scope of every route, by name; a new route has to be added here, or this fails."""

from collections.abc import AsyncIterator, Iterator, Mapping

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

from service.access.api_keys import KeyStore
from service.access.caller import ALL_SCOPES, Scope
from service.config import Settings
from tests.service.http.conftest import SHARED_LOOP, client_of, serve_module

pytestmark = SHARED_LOOP

# No key: routes that load balancers and Prometheus call.
NONE = {("get", "/healthz"), ("get", "/readyz"), ("get", "/metrics")}
# A key with any scope: the route that describes a key to its owner.
ANY = {("get", "/admin/keys/self")}
SCOPES: dict[tuple[str, str], Scope] = {
    ("post", "/v1/answers"): "ask",
    ("get", "/v1/answers"): "ask",
    ("post", "/v1/answers/batch"): "ask",
    ("post", "/v1/chat/completions"): "ask",
    ("post", "/v1/responses"): "ask",
    ("get", "/v1/models"): "ask",
    ("get", "/v1/models/{id}"): "ask",
    ("get", "/v1/memory"): "ask",
    ("get", "/v1/entities"): "ask",
    ("get", "/v1/entities/{id}"): "ask",
    ("get", "/v1/documents"): "ask",
    ("get", "/v1/documents/{id}"): "ask",
    ("put", "/v1/documents/{id}"): "edit",
    ("delete", "/v1/documents/{id}"): "edit",
    ("get", "/admin/versions"): "read",
    ("get", "/admin/versions/{version}"): "read",
    ("get", "/admin/diff"): "read",
    ("get", "/admin/edits"): "read",
    ("get", "/admin/edits/{id}"): "read",
    ("get", "/admin/scope"): "read",
    ("get", "/admin/why"): "read",
    ("get", "/admin/gaps"): "read",
    ("get", "/admin/gaps/{line}"): "read",
    ("delete", "/admin/gaps/{line}"): "edit",
    ("post", "/admin/gap-checks"): "edit",
    ("get", "/admin/reviews"): "read",
    ("get", "/admin/hits"): "read",
    ("put", "/admin/edits/{id}/review"): "edit",
    ("get", "/v1/senses"): "ask",
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
    ("get", "/admin/graph/relations"): "read",
    ("get", "/admin/graph/table"): "read",
    ("get", "/admin/proposals"): "read",
    ("get", "/admin/proposals/{number}"): "read",
    ("post", "/admin/proposals"): "propose",
    ("post", "/admin/proposals/{number}/approval"): "edit",
    ("post", "/admin/proposals/{number}/rejection"): "edit",
    ("get", "/admin/keys"): "admin",
    ("post", "/admin/keys"): "admin",
    ("post", "/admin/keys/{name}/rotations"): "admin",
    ("delete", "/admin/keys/{name}"): "admin",
    ("get", "/admin/audit"): "admin",
    ("get", "/admin/export"): "admin",
    ("post", "/admin/import"): "admin",
}


@pytest.fixture(scope="module")
def shared_config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Return settings as where others can connect: asking needs a key too."""
    yield from serve_module(tmp_path_factory, anonymous_access="none")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def keys(shared_app: FastAPI) -> Mapping[Scope, dict[str, str]]:
    """Return for each scope the header with a key that has no other scope."""
    store: KeyStore = shared_app.state.access.keys
    secrets = {
        scope: (await store.issue(f"{scope}-only", (scope,), None, "admin"))[1] for scope in ALL_SCOPES
    }
    return {scope: {"authorization": f"Bearer {secret}"} for scope, secret in secrets.items()}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(shared_app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(shared_app) as client:
        yield client


async def test_every_documented_route_is_in_the_table(shared_app: FastAPI) -> None:
    routes = {(verb, path) for path, verbs in shared_app.openapi()["paths"].items() for verb in verbs}
    assert routes == NONE | ANY | SCOPES.keys()


@pytest.mark.parametrize(("verb", "path"), sorted(SCOPES))
async def test_a_route_lets_in_its_own_scope_alone(
    client: httpx.AsyncClient, keys: Mapping[Scope, dict[str, str]], verb: str, path: str
) -> None:
    address = (
        path.replace("{version}", "1").replace("{name}", "x").replace("{id}", "x").replace("{number}", "1")
    )
    assert (await client.request(verb, address)).status_code == 401
    for scope, headers in keys.items():
        reply = await client.request(verb, address, headers=headers)
        refused = reply.status_code == 403
        assert refused == (scope != SCOPES[verb, path]), (scope, reply.text)
        assert not refused or f"lacks the scope {SCOPES[verb, path]!r}" in reply.text


@pytest.mark.parametrize(("verb", "path"), sorted(NONE))
async def test_whoever_watches_the_service_needs_no_key(
    client: httpx.AsyncClient, verb: str, path: str
) -> None:
    assert (await client.request(verb, path)).status_code in (200, 503)


async def test_asking_is_open_where_nobody_else_can_connect(config: Settings) -> None:
    def is_open(**options: str) -> bool:
        return Settings.model_validate({**config.model_dump(), **options}).open_to_all

    assert [is_open(host=host) for host in ("127.0.0.1", "::1", "localhost")] == [True] * 3
    assert [is_open(host=host) for host in ("0.0.0.0", "::", "10.0.0.7", "errata.example")] == [False] * 4
    assert is_open(host="0.0.0.0", anonymous_access="everyone")
    assert not is_open(host="127.0.0.1", anonymous_access="none")
