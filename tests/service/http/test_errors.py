"""An unexpected error is answered, measured and audited like any other answer."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from prometheus_client import REGISTRY

from service.http.deployment_client import EditorClient


def count_failures() -> float:
    labels = {"route": "/admin/edits", "method": "POST", "status": "500"}
    return REGISTRY.get_sample_value("errata_http_requests_total", labels) or 0.0


async def test_a_defect_is_answered_measured_and_audited(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def defect(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(EditorClient, "edit", defect)
    before = count_failures()
    edit = {"edits": [{"question": "who?", "answer": "anna", "model": "toy"}]}
    reply = await http.post("/admin/edits", json=edit)
    assert (reply.status_code, reply.json()["code"]) == (500, "internal")
    assert "a defect" not in reply.text
    assert reply.headers["x-request-id"]
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert count_failures() == before + 1
    (entry,) = (await http.get("/admin/audit?path=/admin/edits")).json()["entries"]
    assert (entry["name"], entry["status"], entry["code"]) == ("admin", 500, "internal")
