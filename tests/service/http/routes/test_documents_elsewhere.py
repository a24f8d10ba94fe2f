"""A service whose systems read no documents says so."""

import httpx
import pytest


@pytest.mark.parametrize("verb", ["GET", "PUT", "DELETE"])
async def test_without_a_reader_there_are_no_documents(http: httpx.AsyncClient, verb: str) -> None:
    body = {"text": "x"} if verb == "PUT" else None
    reply = await http.request(verb, "/v1/documents/mill", json=body)
    assert (reply.status_code, reply.json()["code"]) == (404, "unknown_model")
    assert "no system that is served here reads documents" in reply.json()["detail"]
