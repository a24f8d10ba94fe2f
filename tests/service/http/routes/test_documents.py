"""Documents are put, read at every version, changed and removed; other files are refused in words."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from errata.cli.app import build_cli
from typer.testing import CliRunner, Result

from models.blocks import Image
from models.documents.memory import DocumentsView, Texts
from tests.service.extraction.pdfs import write_pdf
from tests.service.http.conftest import KEY
from tests.service.http.listening import listening

MILL = "/v1/documents/mill"
TEXT = "The mill was built in 1820.\nIt burnt down in 1904."
OPTIONS = {"systems": {"first-word": "tests.service.toy_documents:load"}}


async def put(http: httpx.AsyncClient, text: str = TEXT, path: str = MILL, **fields: Any) -> httpx.Response:
    return await http.put(path, json={"text": text, **fields})


async def change(http: httpx.AsyncClient, **fields: Any) -> httpx.Response:
    item = {"memory": "documents/texts", "kind": "document", "change": {"id": "mill", **fields}}
    return await http.post("/admin/edits", json={"edits": [item]})


async def test_a_document_is_read_as_it_was_put(http: httpx.AsyncClient) -> None:
    receipt = await put(http, title="The mill", media_type="text/markdown", message="first")
    assert (receipt.status_code, receipt.json()["version"], receipt.headers["errata-version"]) == (
        201,
        1,
        "1",
    )
    document = (await http.get(MILL)).json()
    [edit] = receipt.json()["report"]["edits"]
    assert document == {
        "id": "mill",
        "title": "The mill",
        "media_type": "text/markdown",
        "characters": len(TEXT),
        "digest": document["digest"],
        "edits": [edit["id"]],
        "version": 1,
        "text": TEXT,
    }
    assert edit["notes"]["summary"].startswith("put document 'mill': 50 characters")


async def test_a_pdf_and_a_page_become_their_text(http: httpx.AsyncClient) -> None:
    pdf, page = (
        write_pdf("The mill was built in 1820.", title="The mill"),
        b"<title>Page</title><p>Built in 1904.",
    )
    for data, kind, query in (
        (pdf, "application/pdf", {}),
        (page, "text/html; charset=utf-8", {"title": "Mine"}),
    ):
        reply = await http.put(MILL, content=data, headers={"content-type": kind}, params=query)
        assert reply.status_code == 201, reply.text
    first, second = [(await http.get(MILL, params={"version": version})).json() for version in (1, 2)]
    assert (first["text"], first["title"]) == ("The mill was built in 1820.", "The mill")
    assert (second["text"], second["title"], second["media_type"]) == ("Built in 1904.", "Mine", "text/plain")


async def test_bytes_that_an_encoding_does_not_have_are_counted(http: httpx.AsyncClient) -> None:
    page = "<p>дом".encode("koi8-r") + b"</p>"
    kind = {"content-type": "text/html; charset=KOI8-R"}
    [edit] = (await http.put(MILL, content=page, headers=kind)).json()["report"]["edits"]
    assert ((await http.get(MILL)).json()["text"], edit["warnings"]) == ("дом", [])
    page = b"<meta charset=gb2312><p>\xc0\xcf\xff\xb0\xe5\xff"
    [edit] = (await http.put(MILL, content=page, headers={"content-type": "text/html"})).json()["report"][
        "edits"
    ]
    assert (await http.get(MILL)).json()["text"] == "老\ufffd板\ufffd"
    assert edit["warnings"][0].startswith("2 characters could not be read, and \ufffd stands for each")


async def test_a_file_that_is_too_large_is_refused(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.http.routes.documents.MAX_FILE_BYTES", 1000)
    reply = await http.put(MILL, content=b"x" * 1001, headers={"content-type": "application/pdf"})
    assert (reply.status_code, reply.json()["code"]) == (413, "too_large")
    assert "a file may have 1,000 bytes" in reply.json()["detail"]


async def test_every_version_keeps_its_text(http: httpx.AsyncClient) -> None:
    await put(http)
    await change(http, action="replace", old="1820", new="1822")
    await change(http, action="append", text=" It stands.")
    await http.delete(MILL, params={"message": "gone"})
    texts = [(await http.get(MILL, params={"version": version})).json()["text"] for version in (1, 2, 3)]
    new_text = TEXT.replace("1820", "1822")
    assert texts == [TEXT, new_text, new_text + " It stands."]
    for version in (0, 4, None):
        missing = await http.get(MILL, params={} if version is None else {"version": version})
        assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert (await http.get(MILL, params={"version": 9})).status_code == 404
    assert (await http.post("/admin/reverts", json={"version": 4})).status_code == 201
    assert (await http.post("/admin/reverts", json={"version": 2})).status_code == 201
    assert (await http.get(MILL)).json()["text"] == TEXT + " It stands."


async def test_a_trial_changes_nothing(http: httpx.AsyncClient) -> None:
    trial = await put(http, dry_run=True)
    assert (trial.status_code, trial.json()["version"]) == (200, None)
    assert (await http.get(MILL)).status_code == 404
    await put(http)
    assert (await http.delete(MILL, params={"dry_run": "true"})).status_code == 200
    assert (await http.get(MILL)).status_code == 200


async def test_a_put_that_is_repeated_with_its_key_is_made_once(http: httpx.AsyncClient) -> None:
    headers = {"idempotency-key": "one"}
    replies = [await http.put(MILL, json={"text": TEXT}, headers=headers) for _ in range(2)]
    assert [reply.json()["version"] for reply in replies] == [1, 1]
    other = await http.put(MILL, json={"text": "other"}, headers=headers)
    assert (other.status_code, other.json()["field"]) == (422, "Idempotency-Key")
    removals = [await http.delete(MILL, headers={"idempotency-key": "two"}) for _ in range(2)]
    assert [removal.json()["version"] for removal in removals] == [2, 2]


async def test_a_writer_who_is_behind_is_told(http: httpx.AsyncClient) -> None:
    await put(http)
    assert (await put(http, "x", expected_version=0)).json()["code"] == "stale_version"


async def test_changes_are_audited_and_reads_are_not(http: httpx.AsyncClient) -> None:
    await put(http)
    await http.get(MILL)
    await http.delete(MILL)
    calls = (await http.get("/admin/audit", params={"path": "/v1/documents"})).json()["entries"]
    assert [(call["method"], call["summary"], call["version"]) for call in calls] == [
        ("DELETE", "document 'mill': removed", 2),
        ("PUT", "document 'mill': 50 characters", 1),
    ]


@pytest.mark.parametrize(
    ("text", "status", "code", "detail"),
    [
        ("", 422, "edit_refused", "the text of 'mill' is empty"),
        (" \n", 422, "edit_refused", "the text of 'mill' is empty"),
        ("PK\x03\x04", 422, "edit_refused", "this is no text: it has U+0003 as character 3"),
        ("<!doctype html>", 422, "edit_refused", "this is HTML and no text: send it as a file"),
        ("%PDF-1.7", 422, "edit_refused", "this is PDF and no text: send it as a file"),
        ("word" * 1_250_000, 413, "too_large", "1,000,000"),
    ],
)
async def test_what_is_no_document_is_refused_in_either_form(
    http: httpx.AsyncClient, text: str, status: int, code: str, detail: str
) -> None:
    as_json = await put(http, text)
    as_text = await http.put(MILL, content=text.encode(), headers={"content-type": "text/plain"})
    for reply in (as_json, as_text):
        assert (reply.status_code, reply.json()["code"]) == (status, code)
        assert detail in reply.json()["detail"]
    assert (await http.get("/v1/memory")).json()["version"] == 0


async def test_the_command_puts_corrects_prints_and_removes(http: httpx.AsyncClient, tmp_path: Path) -> None:
    (tmp_path / "mill.txt").write_text(TEXT)
    app = http._transport.app  # type: ignore[attr-defined]
    async with listening(app) as url:

        async def run(*words: str) -> Result:
            environment = {"ERRATA_URL": url, "ERRATA_KEY": KEY, "COLUMNS": "80"}
            return await asyncio.to_thread(
                CliRunner().invoke, build_cli("doc"), ["doc", *words], env=environment
            )

        put_result = await run("put", "mill", str(tmp_path / "mill.txt"), "--title", "The mill")
        assert put_result.stdout.startswith("Version 1: 1 document")
        assert (await run("edit", "mill", "--replace", "1820", "--with", "1822")).exit_code == 0
        assert (await run("get", "mill")).stdout == TEXT.replace("1820", "1822") + "\n"
        assert (await run("get", "mill", "--at", "1")).stdout == TEXT + "\n"
        assert "mill" in (await run("list")).stdout
        answer = await run("ask", "mill", "What?", "--model", "first-word")
        assert answer.stdout == "The\n"
        assert (await run("rm", "mill")).exit_code == 0
        assert (await run("list")).stdout == "There is no document at version 3.\n"
        missing = await run("get", "mill")
        assert (missing.exit_code, "there is no document 'mill' at version 3" in missing.stderr) == (1, True)


async def test_a_long_text_stays_out_of_log_and_report(http: httpx.AsyncClient) -> None:
    receipt = await put(http, "word " * 100_000)
    log = await http.get("/admin/versions/1")
    assert max(len(receipt.content), len(log.content)) < 10_000
    assert "documents/texts holds 1 document with 500,000 characters" in json.dumps(
        receipt.json()["report"]["capacity"]
    )


async def test_many_documents_of_one_request_are_not_folded_for_each(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_views, view = 0, Texts.view

    def count(texts: Texts, image: Image) -> DocumentsView:
        nonlocal n_views
        n_views += 1
        return view(texts, image)

    monkeypatch.setattr(Texts, "view", count)
    items = [
        {
            "memory": "documents/texts",
            "kind": "document",
            "change": {"id": id, "action": action, "text": TEXT},
        }
        for id, action in [*((f"mill-{number}", "put") for number in range(40)), ("mill-7", "append")]
    ]
    receipt = await http.post("/admin/edits", json={"edits": items})
    assert (receipt.status_code, n_views < 10) == (201, True)
    assert (await http.get("/v1/documents/mill-7")).json()["characters"] > len(TEXT)
