"""Keys over HTTP: made by an admin, used by their owners, rotated without a gap, revoked for good."""

from __future__ import annotations

from typing import Any

import httpx


async def make_key(http: httpx.AsyncClient, name: str, *scopes: str, **options: Any) -> str:
    reply = await http.post("/admin/keys", json={"name": name, "scopes": scopes, **options})
    assert reply.status_code == 201, reply.text
    key: str = reply.json()["key"]
    return key


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


async def test_a_curator_edits_under_her_own_name(http: httpx.AsyncClient) -> None:
    key = await make_key(http, "anna", "read", "edit")
    edit = {"edits": [{"question": "who?", "answer": "anna", "model": "toy"}]}
    assert (await http.post("/admin/edits", json=edit, headers=bearer(key))).status_code == 201
    assert (await http.get("/admin/versions", headers=bearer(key))).json()["versions"][0]["author"] == "anna"
    assert (await http.get("/admin/keys/self", headers=bearer(key))).json() == {
        "name": "anna",
        "scopes": ["read", "edit"],
    }


async def test_a_key_is_told_once_and_listed_without_what_opens_it(http: httpx.AsyncClient) -> None:
    key = await make_key(http, "anna", "ask", "ask")
    reply = await http.get("/admin/keys")
    (key_state,) = reply.json()["keys"]
    assert (key_state["name"], key_state["scopes"], key_state["created_by"]) == ("anna", ["ask"], "admin")
    assert key not in reply.text
    assert "sha256" not in reply.text


async def test_rotating_leaves_no_gap_unless_that_is_wanted(http: httpx.AsyncClient) -> None:
    old = await make_key(http, "anna", "read")
    new = (await http.post("/admin/keys/anna/rotations", json={"keep_old_s": 60.0})).json()["key"]
    for key in (old, new):
        assert (await http.get("/admin/versions", headers=bearer(key))).status_code == 200
    last = (await http.post("/admin/keys/anna/rotations", json={"keep_old_s": 0})).json()["key"]
    statuses = [
        (await http.get("/admin/versions", headers=bearer(key))).status_code for key in (old, new, last)
    ]
    assert statuses == [401, 401, 200]


async def test_a_revoked_key_is_refused_at_once_and_stays_in_the_list(http: httpx.AsyncClient) -> None:
    key = await make_key(http, "anna", "read")
    assert (await http.get("/admin/versions", headers=bearer(key))).status_code == 200
    assert (await http.delete("/admin/keys/anna")).json()["revoked"] is not None
    refused = await http.get("/admin/versions", headers=bearer(key))
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")
    assert (await http.get("/admin/keys")).json()["keys"][0]["revoked"] is not None
    assert (await http.delete("/admin/keys/anna")).json()["code"] == "not_found"
    again = await http.post("/admin/keys", json={"name": "anna", "scopes": ["read"]})
    assert (again.status_code, again.json()["code"]) == (409, "key_taken")


WRONG: list[dict[str, Any]] = [
    {"name": "anna", "scopes": ["everything"]},
    {"name": "", "scopes": ["ask"]},
    {"name": "an_na", "scopes": ["ask"]},
    {"name": "an na", "scopes": ["ask"]},
    {"name": "a" * 65, "scopes": ["ask"]},
    {"name": "anna", "scopes": ["ask"], "expires_in_s": 0},
]


async def test_a_key_that_cannot_be_is_refused_and_not_made(http: httpx.AsyncClient) -> None:
    for body in WRONG:
        reply = await http.post("/admin/keys", json=body)
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid_input"), body
    assert (await http.get("/admin/keys")).json()["keys"] == []
