"""The Backpack over HTTP: a fact and a change of senses are made, asked for, streamed, refused and taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from models.backpack.memory import SENSES
from models.backpack.system import load
from models.packs.probes import pack_probes
from models.system import Bundle
from service.access.api_keys import fingerprint
from service.editing.deployment import Editor
from service.http.app import build_app
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from service.replicas.replica import Replica
from tests.models.backpack.tiny import write_checkpoint
from tests.service.http.conftest import ADMIN, KEY, client_of, local_editor, local_router
from tests.service.parts import settings, start_deployment

QUESTION, ANSWER = "What is the capital of Peru?", "Lima, the city of kings"
SILENT_THE = {"memory": SENSES, "kind": "sense", "change": {"word": " the", "action": "factor", "factor": 0}}
FOLDER: list[Path] = []  # of the checkpoint that `load_tiny` loads


def load_tiny(device: torch.device, dtype: torch.dtype) -> Bundle:
    return load(device, dtype, FOLDER[-1])


@pytest.fixture
async def http(
    valkey: EmbeddedValkey, ledger: RedisLedger, tmp_path: Path
) -> AsyncIterator[httpx.AsyncClient]:
    FOLDER.append(write_checkpoint(tmp_path / "checkpoint"))
    systems = {"backpack": f"{__name__}:load_tiny"}
    config = settings(valkey.url, tmp_path, systems=systems, admin_key_sha256=fingerprint(KEY))
    async with (
        start_deployment(Editor, config) as editor,
        start_deployment(Replica, config, "backpack") as replica,
    ):
        app = build_app(config, local_router({"backpack": replica}), local_editor(editor))
        async with client_of(app) as client:
            client.headers.update(ADMIN)
            yield client
        await app.state.access.aclose()


async def edit(http: httpx.AsyncClient, item: dict[str, Any]) -> httpx.Response:
    return await http.post("/admin/edits", json={"edits": [item], "wait": "all"})


async def ask(http: httpx.AsyncClient, question: str, **options: object) -> dict[str, Any]:
    reply = await http.post("/v1/answers", json={"question": question, **options})
    answer: dict[str, Any] = reply.raise_for_status().json()
    return answer


async def test_a_fact_and_a_change_of_senses_are_made_and_taken_back(http: httpx.AsyncClient) -> None:
    receipt = await edit(http, {"question": QUESTION, "answer": ANSWER})
    assert receipt.status_code == 201, receipt.text
    (report,) = receipt.json()["report"]["edits"]
    assert report["holds"]
    answer = await ask(http, QUESTION, min_version=1)
    assert (answer["answer"], answer["edits"]) == (ANSWER, [report["id"]])
    stream = await http.post("/v1/answers", json={"question": QUESTION, "stream": True})
    assert stream.text.count("event: delta") > 1
    change = await edit(http, SILENT_THE)
    assert change.status_code == 201, change.text
    (sense_report,) = change.json()["report"]["edits"]
    assert sense_report["notes"]["summary"] == "weigh ' the' by 0.0"
    assert (await ask(http, QUESTION, min_version=2))["answer"] == ANSWER
    refusal = await edit(http, {**SILENT_THE, "change": {**SILENT_THE["change"], "factor": -1}})
    assert (refusal.status_code, refusal.json()["reason"]) == (422, "bad_factor")
    assert (await http.post("/admin/reverts", json={"version": 1, "wait": "all"})).status_code == 201
    assert (await ask(http, QUESTION, min_version=3))["edits"] == [sense_report["id"]]
    assert (await http.post("/admin/reverts", json={"version": 2, "wait": "all"})).status_code == 201
    assert (await ask(http, QUESTION, min_version=4))["edits"] == []
    (card,) = (await http.get("/v1/models")).json()["data"]
    assert card["memories"][0]["changes"]["sense"]["action"]["enum"]


async def test_the_report_of_a_fact_is_exact_and_a_trial_changes_nothing(http: httpx.AsyncClient) -> None:
    item = {"question": QUESTION, "answer": ANSWER}
    trial = await http.post("/admin/edits", json={"edits": [item], "dry_run": True})
    assert trial.status_code == 200, trial.text
    report = trial.json()["report"]
    (fact,) = report["edits"]
    assert (fact["after"], fact["holds"]) == (ANSWER, True)
    assert report["unmeasured_probes"] == 0
    assert report["probes"] > 12_000
    assert (await ask(http, QUESTION))["version"] == 0
    await edit(http, item)
    changed = [effect["question"] for effect in report["side_effects"]]
    for question in changed:
        assert (await ask(http, question, version=0))["answer"] != ANSWER
        assert (await ask(http, question, min_version=1))["answer"] == ANSWER
    again = {"edits": [{"question": "Which city is the capital of Peru?", "answer": "Cusco"}], "strict": True}
    refusal = await http.post("/admin/edits", json=again)
    assert (refusal.status_code, refusal.json()["code"]) == (409, "breaks_tests")
    diff = (await http.get("/admin/diff", params={"from": 0, "to": 1})).json()
    (change,) = diff["changes"]
    assert (change["question"], change["after"], change["change"]) == (QUESTION, ANSWER, "added")
    assert diff["checksums_differ"] == {SENSES: True}


async def test_the_report_of_changed_senses_is_what_the_answers_are_before_and_after(
    http: httpx.AsyncClient,
) -> None:
    before = (await http.get("/v1/memory")).json()["checksums"]
    probe = pack_probes().core[0]
    # Answers of random weights do not end: this word is to end them.
    word = f" {(await ask(http, probe))['best'].split()[0]}"
    change = {"word": word, "action": "overwrite", "towards": "\n", "first_piece": True}
    factor = {"word": word, "action": "factor", "factor": 50, "first_piece": True}
    items = [{**SILENT_THE, "change": fields} for fields in (change, factor)]
    receipt = await http.post("/admin/edits", json={"edits": items, "wait": "all"})
    report = receipt.json()["report"]
    assert report["probes"] == 200
    assert report["unmeasured_probes"] > 12_000
    assert probe in [effect["question"] for effect in report["side_effects"]]
    for effect in report["side_effects"][:10]:
        assert (await ask(http, effect["question"], version=0))["answer"] == effect["before"]
        assert (await ask(http, effect["question"], min_version=1))["answer"] == effect["after"]
    diff = (await http.get("/admin/diff", params={"from": 0, "to": 1})).json()
    assert diff["facts"][1]["object"] == f"weigh {word!r} by 50.0"
    await http.post("/admin/reverts", json={"version": 1, "wait": "all"})
    assert (await http.get("/v1/memory")).json()["checksums"] == before
