"""What an administrator reads of the calls of the admin routes."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO
from typing import Any

from errata.cli.render.status import draw_audit
from errata.wire import AuditEntry, AuditPage
from rich.console import Console


def entry(minute: int, **fields: Any) -> AuditEntry:
    time = datetime(2026, 11, 26, 0, minute, 30, tzinfo=UTC)
    body = {"id": f"{minute}-0", "name": "ana", "address": "::1", "method": "POST", "path": "/admin/edits"}
    return AuditEntry.model_validate({**body, "time": time, "status": 409, "code": "add_or_set", **fields})


def test_merged_calls_stand_where_the_last_was_made_and_say_since_when() -> None:
    first = datetime(2026, 11, 26, 0, 13, 30, tzinfo=UTC)
    call = entry(14, summary="Hotel Adler", count=2, first=first)
    console = Console(width=160, file=StringIO())
    console.print(draw_audit(AuditPage(entries=[call, entry(20, summary="twin town")])))
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    _, newer, older = text.splitlines()
    assert "twin town" in newer
    assert f"{call.time.astimezone():%H:%M:%S}" in older
    assert f"Hotel Adler, 2 times since {first.astimezone():%H:%M:%S}" in older
