"""GET /v1/answers: what a link in a report opens."""

from __future__ import annotations

from typing import Any

import httpx

from models.system import Probes
from service.editing.evaluation.side_effects import ProbeSelector
from tests.service.editing.requests import FRANCE, PERU, item


def content(reply: httpx.Response) -> dict[str, Any]:
    """Without what differs each time."""
    assert reply.status_code == 200
    body: dict[str, Any] = reply.json()
    return {name: value for name, value in body.items() if name != "timings"}


async def test_a_link_gives_what_the_same_question_gives_when_it_is_sent(http: httpx.AsyncClient) -> None:
    asked = {"question": "What's the capital of Peru & why?", "model": "toy", "version": 0}
    assert content(await http.get("/v1/answers", params=asked)) == content(
        await http.post("/v1/answers", json=asked)
    )
    assert (await http.get("/v1/answers", params={"question": PERU, "model": "nobody"})).status_code == 404
    assert (await http.get("/v1/answers", params={"question": " ", "model": "toy"})).status_code == 422


async def test_the_links_of_a_report_show_the_answer_before_and_after(
    http: httpx.AsyncClient, editor: Any
) -> None:
    editor._side_effects._selectors["toy"] = ProbeSelector(
        Probes(
            (
                "What is (the capital) of Peru?",
                FRANCE,
            )
        )
    )
    edit = {"edits": [item(PERU, "Cusco")]}
    tried = (await http.post("/admin/edits", json={**edit, "dry_run": True})).json()
    made = (await http.post("/admin/edits", json=edit)).json()
    [might], [did] = tried["report"]["side_effects"], made["report"]["side_effects"]
    assert might["link"] == {"before": did["link"]["before"], "after": None}, "a dry run makes no version"
    before, after = [content(await http.get(did["link"][side])) for side in ("before", "after")]
    assert (before["answer"], before["version"]) == ("Lima", 0)
    assert (after["answer"], after["version"]) == ("Cusco", made["version"])
