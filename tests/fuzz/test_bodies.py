"""A corpus of bodies that somebody sent or might: each file is named after the status that it has to get.

everywhere/ goes to every route that reads JSON. A body that is found to get another status than it should is added.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from service.http import body as bodies
from tests.service.http.serving import Service

BODIES = Path(__file__).parent / "bodies"
CHAT = "/v1/chat/completions"
ROUTES = {
    "answers": ["/v1/answers"],
    "chat": [CHAT],
    "edits": ["/admin/edits"],
    "import": ["/admin/graph/import"],
    "everywhere": [
        *("/v1/answers", "/v1/answers/batch", CHAT, "/admin/edits", "/admin/reverts", "/admin/rollbacks"),
        *("/admin/keys", "/admin/keys/nobody/rotations"),
    ],
}
SMALL_ROUTES = ("/admin/reverts", "/admin/rollbacks", "/admin/keys", "/admin/keys/nobody/rotations")
LARGE_ROUTES = ("/admin/edits", "/admin/graph/import")
BOUNDS = (
    dict.fromkeys(SMALL_ROUTES, bodies.FEW_FIELDS)
    | dict.fromkeys(LARGE_ROUTES, bodies.EDITS)
    | {CHAT: bodies.MESSAGES}
)
FILES = sorted(BODIES.glob("*/*.*"))
JSON = {"content-type": "application/json"}
PERU = {"question": "What is the capital of Peru?"}


@pytest.fixture(scope="module")
def http(service: Service) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.url, headers=service.authorization, timeout=60) as http:
        yield http


@pytest.mark.parametrize("file", FILES, ids=[f"{file.parent.name}/{file.stem}" for file in FILES])
def test_a_body_gets_the_status_that_its_file_is_named_after(http: httpx.Client, file: Path) -> None:
    head = http.get("/admin/versions").json()["head"]
    for route in ROUTES[file.parent.name]:
        reply = http.post(route, content=file.read_bytes(), headers=JSON)
        assert reply.status_code == expected(file, route), (route, reply.text)
        if reply.status_code >= 400:
            problem = reply.json()
            assert len(problem.get("error", problem).get("code")) > 3
            assert len(reply.content) < 4_000, "a refusal does not send back what it was sent"
    assert http.get("/admin/versions").json()["head"] == head
    assert http.post("/v1/answers", json=PERU).status_code == 200


def expected(file: Path, route: str) -> int:
    """Return the status that a route has to give.

    A body with more bytes or parts than its route takes is refused before it is read. OpenAI has no 422: there, what
    does not fit is 400 as well.
    """
    status, body = int(file.name.partition("-")[0]), file.read_bytes()
    bounds = BOUNDS.get(route, bodies.ASKING)
    n_parts = sum(map(body.count, (b"[", b"{", b":", b","))) + body.count(b'"') // 2
    if len(body) > bounds.bytes or n_parts > bounds.parts:
        return 413
    return 400 if (route, status) == (CHAT, 422) else status


def test_every_folder_of_bodies_is_sent_somewhere() -> None:
    assert {file.parent.name for file in FILES} == set(ROUTES)
    assert len(FILES) > 100
