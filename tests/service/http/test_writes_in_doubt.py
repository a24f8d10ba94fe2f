"""A write whose editor dies is sent again and made once, or reported as in doubt, with the key that settles it."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from ray.exceptions import ActorDiedError

from service.config import Settings
from service.editing.call import ATTEMPTS
from service.editing.editor import Editor
from service.http.app import build_app
from tests.service.editing.requests import FRANCE, PERU, item
from tests.service.http.conftest import ADMIN, client_of, local_editor, local_router


class MortalEditor:
    """An editor that dies `deaths` times after it has done a request, before its reply is sent."""

    def __init__(self, editor: Editor) -> None:
        self.deaths = 0
        self._editor = editor

    def __getattr__(self, method: str) -> Any:
        async def call(*args: Any, **marks: Any) -> Any:
            outcome = await getattr(self._editor, method)(*args, **marks)
            if self.deaths:
                self.deaths -= 1
                raise ActorDiedError
            return outcome

        return call


@pytest.fixture
def mortal(editor: Editor) -> MortalEditor:
    return MortalEditor(editor)


@pytest.fixture
async def http(config: Settings, mortal: MortalEditor) -> AsyncIterator[httpx.AsyncClient]:
    app: FastAPI = build_app(config, local_router({}), local_editor(mortal))
    async with client_of(app) as client:
        client.headers.update(ADMIN)
        yield client
    await app.state.access.aclose()


def edits(question: str, answer: str) -> dict[str, Any]:
    return {"edits": [item(question, answer)], "wait": "none"}


async def head(http: httpx.AsyncClient) -> int:
    return int((await http.get("/admin/versions")).json()["head"])


async def test_a_write_that_was_made_is_answered_though_its_editor_died(
    http: httpx.AsyncClient, mortal: MortalEditor
) -> None:
    for version, (route, body) in enumerate(
        [
            ("edits", edits(PERU, "Cusco")),
            ("reverts", {"version": 1, "wait": "none"}),
            ("edits", edits(FRANCE, "Lyon")),
            ("rollbacks", {"to": 1, "wait": "none"}),
        ],
        start=1,
    ):
        mortal.deaths = ATTEMPTS - 1
        reply = await http.post(f"/admin/{route}", json=body)
        assert (reply.status_code, reply.json()["version"], await head(http)) == (201, version, version)


async def test_one_that_may_have_been_made_says_so_and_its_key_settles_it(
    http: httpx.AsyncClient, mortal: MortalEditor
) -> None:
    mortal.deaths = ATTEMPTS
    problem = await http.post("/admin/edits", json=edits(PERU, "Cusco"))
    body = problem.json()
    assert (problem.status_code, body["code"], body["in_doubt"]) == (503, "not_ready", True)
    assert "look at the log" in body["detail"]
    again = {"idempotency-key": body["idempotency_key"]}
    receipt = await http.post("/admin/edits", json=edits(PERU, "Cusco"), headers=again)
    assert (receipt.status_code, receipt.json()["version"], await head(http)) == (201, 1, 1)


async def test_a_name_that_may_have_been_given_is_in_doubt(
    http: httpx.AsyncClient, mortal: MortalEditor
) -> None:
    await http.post("/admin/edits", json=edits(PERU, "Cusco"))
    mortal.deaths = 1
    problem = (await http.put("/admin/tags/before-summer", json={"version": 1})).json()
    assert (problem["in_doubt"], problem["idempotency_key"]) == (True, None)
