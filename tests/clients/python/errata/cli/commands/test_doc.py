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
    ("name", "media_type"), [("a.pdf", "application/pdf"), ("a.HTML", "text/html"), ("a.htm", "text/html")]
)
def test_a_file_is_sent_as_it_stands(run: Any, tiny: Any, folder: Path, name: str, media_type: str) -> None:
    (folder / name).write_bytes(b"\xff\x00 no text")
    run("doc", "put", "a", name, "--title", "T", "-m", "why", "--dry-run")
    request, body = tiny.requests[-1]
    assert (request.method, request.url.path, body) == ("PUT", "/v1/documents/a", b"\xff\x00 no text")
    assert request.headers["content-type"] == media_type
    assert dict(request.query_params) == {"title": "T", "message": "why", "dry_run": "true"}


def test_a_correction_is_an_edit_of_the_memory(run: Any, tiny: Any) -> None:
    run("doc", "edit", "mill", "--replace", "1820", "--with", "1822", "--dry-run")
    method, path, body = last_request(tiny)
    change = {"id": "mill", "action": "replace", "old": "1820", "new": "1822"}
    assert (method, path) == ("POST", "/admin/edits")
    assert body["edits"] == [{"memory": "documents/texts", "kind": "document", "change": change}]
    assert body["dry_run"]
