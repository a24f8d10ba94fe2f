"""Every system is asked, edited, compared and reverted over HTTP, and refuses in words."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from models.system import Ask
from service.access.api_keys import fingerprint
from service.config import Settings
from service.ledger.embedded.server import EmbeddedValkey
from tests.service.conftest import ledger as ledger
from tests.service.conftest import raw as raw
from tests.service.conftest import valkey as valkey
from tests.service.http.conftest import KEY
from tests.service.http.conftest import app as app
from tests.service.http.conftest import editor as editor
from tests.service.http.conftest import http as http
from tests.service.http.conftest import stranger as stranger
from tests.service.parts import settings
from tests.systems.conftest import Case

SAME = ("answer", "reason", "score", "edits", "facts", "explanation")


@pytest.fixture
def config(case: Case, valkey: EmbeddedValkey, tmp_path: Path) -> Settings:
    name = case.record.name
    systems = {name: f"tests.systems.records:serve?name={name}"}
    return settings(valkey.url, tmp_path, systems=systems, admin_key_sha256=fingerprint(KEY))


async def ask(http: httpx.AsyncClient, ask: Ask, **options: Any) -> dict[str, Any]:
    reply = await http.post("/v1/answers", json={**fields_of(ask), "explain": True, **options})
    answer: dict[str, Any] = reply.raise_for_status().json()
    return answer


def fields_of(ask: Ask) -> dict[str, Any]:
    """Return a question as the wire has it."""
    fields = {"question": ask.question, "document": ask.document, "context": ask.context}
    graph = {} if ask.use_graph else {"kg": "none"}
    return graph | {name: value for name, value in fields.items() if value is not None}


async def edit(http: httpx.AsyncClient, *items: dict[str, Any], **options: Any) -> httpx.Response:
    return await http.post(
        "/admin/edits", json={"edits": items, "wait": "all", "wait_report": True, **options}
    )


async def checksums(http: httpx.AsyncClient) -> dict[str, str]:
    sums: dict[str, str] = (await http.get("/v1/memory")).raise_for_status().json()["checksums"]
    return sums


def same(answer: dict[str, Any]) -> dict[str, Any]:
    """Return what is equal at two versions with the same answer."""
    return {name: answer.get(name) for name in SAME}


async def test_it_is_asked_edited_compared_and_reverted(case: Case, http: httpx.AsyncClient) -> None:
    record, asks = case.record, [case.record.ask, *case.record.wordings, *case.record.bystanders]
    version, new_answer = 0, None if record.is_withheld else record.answers[1]
    if record.requests_before:
        version = (await edit(http, *record.requests_before)).raise_for_status().json()["version"]
    before, sums = [same(await ask(http, item)) for item in asks], await checksums(http)
    assert before[0]["answer"] == record.answers[0]

    trial = (await edit(http, *record.requests, dry_run=True)).raise_for_status().json()
    assert all(report["holds"] for report in trial["report"]["edits"])
    assert await checksums(http) == sums

    receipt = await edit(http, *record.requests)
    assert (receipt.status_code, receipt.json()["version"]) == (201, version + 1), receipt.text
    reports = receipt.json()["report"]["edits"]
    edits = {report["id"] for report in reports if report["holds"]}
    assert len(edits) == len(record.requests)
    for item in (record.ask, *record.wordings):
        answer = await ask(http, item, min_version=version + 1)
        assert (answer["answer"], answer["version"]) == (new_answer, version + 1)
        assert edits <= {*answer["edits"]}
        assert answer["explanation"]
        stream = await http.post("/v1/answers", json={**fields_of(item), "stream": True})
        events = [json.loads(line[6:]) for line in stream.text.splitlines() if line.startswith("data: {")]
        assert [event["answer"] for event in events if "answer" in event] == [new_answer]
    places = range(1 + len(record.wordings), len(asks))
    assert [same(await ask(http, asks[place])) for place in places] == [before[place] for place in places]
    assert [same(await ask(http, item, version=version)) for item in asks] == before

    diff = (await http.get("/admin/diff", params={"from": version, "to": version + 1})).raise_for_status()
    assert all(edit in diff.text for edit in edits)
    changed = await checksums(http)
    assert {name for name in sums if sums[name] != changed[name]} == record.edit.keys()
    (card,) = (await http.get("/v1/models")).json()["data"]
    assert {memory["name"] for memory in card["memories"]} == sums.keys()

    revert = await http.post("/admin/reverts", json={"version": version + 1, "wait": "all"})
    assert revert.status_code == 201
    assert [same(await ask(http, item, min_version=version + 2)) for item in asks] == before
    assert await checksums(http) == sums
    assert (await ask(http, record.ask, version=version + 1))["answer"] == new_answer


async def test_what_it_cannot_do_is_said_in_words_and_changes_nothing(
    case: Case, http: httpx.AsyncClient
) -> None:
    if case.record.requests_before:
        await edit(http, *case.record.requests_before)
    sums = await checksums(http)
    item, reason = case.record.refused
    refusal = await edit(http, *case.record.requests, item)
    assert (refusal.status_code, refusal.json().get("reason", "")) == (422, reason), refusal.text
    assert refusal.json()["detail"]
    assert await checksums(http) == sums
    for code, declined in case.record.declined.items():
        answer = await ask(http, declined)
        assert (answer["answer"], answer["reason"]) == (None, code)
        assert answer["reason_text"].endswith((".", "`."))
