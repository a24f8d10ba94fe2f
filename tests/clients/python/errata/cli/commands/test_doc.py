"""`errata doc`: its requests to the service, and refusals before anything is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def last_request(tiny: Any) -> tuple[str, str, Any]:
    request, body = tiny.requests[-1]
    return request.method, request.url.path, json.loads(body) if body else None


def test_a_file_is_put_under_an_id(run: Any, tiny: Any, folder: Path) -> None:
    (folder / "mill.md").write_text("\ufeff# The mill\nBuilt in 1820.", encoding="utf-8")
    run("doc", "put", "mill", "mill.md", "--title", "The mill", "-m", "why")
    fields = {"title": "The mill", "media_type": "text/markdown", "message": "why"}
    assert last_request(tiny) == (
        "PUT",
        "/v1/documents/mill",
        {"text": "# The mill\nBuilt in 1820.", **fields},
    )


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.txt", b"\xff\xfe", "is not UTF-8"),
        ("missing.txt", None, "cannot be read"),
    ],
)
def test_what_is_no_text_is_not_sent(
    run: Any, tiny: Any, folder: Path, name: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        (folder / name).write_bytes(content)
    result = run("doc", "put", "a", name)
    assert (result.exit_code, tiny.requests) == (2, [])
    assert words in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("name", "media_type"), [("a.pdf", "application/pdf"), ("a.HTML", "text/html"), ("a.htm", "text/html")]
)
def test_a_file_is_sent_as_it_stands(run: Any, tiny: Any, folder: Path, name: str, media_type: str) -> None:
    (folder / name).write_bytes(b"\xff\x00 no text")
    run("doc", "put", "a", name, "--title", "T", "-m", "why", "--dry-run")
    request, body = tiny.requests[-1]
    assert (request.method, request.url.path, body) == ("PUT", "/v1/documents/a", b"\xff\x00 no text")
    assert request.headers["content-type"] == media_type
    assert dict(request.query_params) == {"title": "T", "message": "why", "dry_run": "true"}


def test_a_wrong_id_is_wrong_usage(run: Any, tiny: Any) -> None:
    result = run("doc", "get", "../etc")
    assert (result.exit_code, tiny.requests) == (2, [])
    assert "may have 1 to 128 letters, digits and . _ -" in result.stderr


def test_a_correction_is_an_edit_of_the_memory(run: Any, tiny: Any) -> None:
    run("doc", "edit", "mill", "--replace", "1820", "--with", "1822", "--dry-run")
    method, path, body = last_request(tiny)
    change = {"id": "mill", "action": "replace", "old": "1820", "new": "1822"}
    assert (method, path) == ("POST", "/admin/edits")
    assert body["edits"] == [{"memory": "documents/texts", "kind": "document", "change": change}]
    assert body["dry_run"]


def test_a_question_names_the_document_and_a_model_that_reads_it(run: Any, tiny: Any) -> None:
    result = run("doc", "ask", "mill", "When", "was", "it", "built?")
    assert result.exit_code in (0, 4)
    question = {"question": "When was it built?", "model": "ernie-doc", "document": "mill"}
    assert last_request(tiny) == ("POST", "/v1/answers", question)


def test_a_document_is_removed(run: Any, tiny: Any) -> None:
    run("doc", "rm", "mill", "--no-wait")
    assert last_request(tiny)[:2] == ("DELETE", "/v1/documents/mill")
    assert tiny.requests[-1][0].url.query == "wait=none"
