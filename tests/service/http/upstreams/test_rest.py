"""The other paths of an upstream, its models, and who may use it."""

import json

import httpx
import pytest

from service.editing.editor import Editor
from tests.service.http.upstreams.origin import Origin, of_json
from tests.service.http.upstreams.test_passing import ANSWER, CHAT, QUESTION, chat
from tests.service.parts import edit

MODELS = b'{"object":"list","data":[{"id":"tiny"},{"id":"a/b"}]}'
OBSERVE = {"upstream_mode": {"team": "observe"}}
OFF_FOR_ADMIN = {"upstream_mode": {"team": "on", "team/admin": "off"}}


async def test_models_of_an_upstream_are_listed_beside_ours(
    client: httpx.AsyncClient, origin: Origin
) -> None:
    origin.pieces = of_json(MODELS)
    cards = (await client.get("/v1/models")).json()["data"]
    assert [card["id"] for card in cards] == ["toy", "team/tiny", "team/a/b"]
    assert (await client.get("/v1/models/team/a/b")).json()["details"] == {"upstream": "team"}
    assert (await client.get("/v1/models/team/other")).json()["code"] == "unknown_model"


async def test_a_prompt_of_one_line_that_asks_is_matched(
    client: httpx.AsyncClient, origin: Origin, editor: Editor
) -> None:
    await edit(editor, QUESTION, ANSWER)
    body = {"model": "team/tiny", "prompt": QUESTION}
    assert (await client.post("/v1/completions", json=body)).json()["choices"][0]["text"] == ANSWER
    for prompt in (QUESTION.rstrip("?"), f"Answer.\n{QUESTION}", [1, 2], None):
        response = await client.post("/v1/completions", json=body | {"prompt": prompt})
        assert response.headers["x-errata-outcome"] == "passed"


async def test_a_response_of_an_edit_has_its_shape_and_an_id_from_which_a_dialogue_goes_on(
    client: httpx.AsyncClient, origin: Origin, editor: Editor
) -> None:
    await edit(editor, QUESTION, ANSWER)
    body = {"model": "team/tiny", "input": QUESTION}
    reply = (await client.post("/v1/responses", json=body)).json()
    assert reply["output"][0]["content"][0]["text"] == ANSWER
    events = (await client.post("/v1/responses", json=body | {"stream": True})).text
    assert json.loads(events.rstrip().rpartition("data: ")[2])["response"]["output"] != []
    turn = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": ANSWER}]
    user = {"role": "user", "content": "and his brother?"}
    for input in (user["content"], [user]):
        further = {"model": "team/tiny", "previous_response_id": reply["id"], "input": input}
        passage = await client.post("/v1/responses", json=further)
        assert passage.headers["x-errata-outcome"] == "passed"
        content = json.loads(origin.body)
        assert (content["previous_response_id"], content["input"]) == (None, [*turn, user])
    damage = body | {"previous_response_id": reply["id"][:20] + "x" * 40}
    refusal = await client.post("/v1/responses", json=damage)
    assert (refusal.status_code, refusal.json()["error"]["code"]) == (400, "invalid_input")
    passage = await client.post("/v1/responses", json=body | {"previous_response_id": "resp_1"})
    assert passage.headers["x-errata-outcome"] == "passed"


async def test_embeddings_and_unknown_paths_pass(client: httpx.AsyncClient, origin: Origin) -> None:
    origin.pieces = of_json(b'{"data" : []}')
    body = {"model": "team/tiny", "input": "x"}
    for path in ("/v1/embeddings", "/v1/rerank"):
        assert (await client.post(path, json=body)).content == b'{"data" : []}'
    head = {"x-errata-upstream": "team", "content-type": "text/plain"}
    assert (await client.post("/v1/files", content=b"\x00raw", headers=head)).content == b'{"data" : []}'
    assert origin.body == b"\x00raw"
    assert (await client.delete("/v1/responses/resp_1", headers=head)).status_code == 200
    n_requests = len(origin.requests)
    assert (await client.post("/v1/embeddings", json=body | {"model": "toy"})).status_code == 404
    assert (await client.get("/v1/nothing")).json()["code"] == "not_found"
    assert len(origin.requests) == n_requests


async def test_an_upstream_needs_a_key_on_loopback_too(client: httpx.AsyncClient, origin: Origin) -> None:
    del client.headers["authorization"]
    assert (await client.post(CHAT, json=chat("hello") | {"model": "toy"})).status_code == 200
    for path in (CHAT, "/v1/embeddings"):
        refusal = await client.post(path, json=chat("hello"))
        assert (refusal.status_code, refusal.json()["error"]["code"]) == (401, "unauthorized")
    assert (await client.get("/v1/files", headers={"x-errata-upstream": "team"})).status_code == 401
    assert origin.requests == []


@pytest.mark.parametrize("config", [{"upstream_open": True}], indirect=True)
async def test_an_open_upstream_needs_none(client: httpx.AsyncClient) -> None:
    del client.headers["authorization"]
    assert (await client.post(CHAT, json=chat("hello"))).status_code == 200


@pytest.mark.parametrize("config", [OBSERVE], indirect=True)
async def test_observing_says_what_an_edit_would_answer_and_changes_nothing(
    client: httpx.AsyncClient, editor: Editor
) -> None:
    await edit(editor, QUESTION, ANSWER)
    response = await client.post(CHAT, json=chat(QUESTION))
    assert response.content == b"{}"
    assert response.headers["x-errata-outcome"] == "would-answer"
    assert response.headers["x-errata-version"] == "1"


@pytest.mark.parametrize("config", [OFF_FOR_ADMIN], indirect=True)
async def test_the_mode_of_a_key_wins(client: httpx.AsyncClient, editor: Editor) -> None:
    await edit(editor, QUESTION, ANSWER)
    response = await client.post(CHAT, json=chat(QUESTION))
    assert response.headers["x-errata-outcome"] == "passed"


async def test_edits_answer_while_an_upstream_is_down_and_it_is_left_alone_for_a_while(
    client: httpx.AsyncClient, editor: Editor, origin: Origin
) -> None:
    await edit(editor, QUESTION, ANSWER)
    origin.pieces = [b"junk that is no HTTP\r\n\r\n"]
    for _ in range(5):
        failure = await client.post(CHAT, json=chat("hello"))
        assert (failure.status_code, failure.json()["error"]["code"]) == (502, "upstream_failed")
    n_requests = len(origin.requests)
    refusal = await client.post(CHAT, json=chat("hello"))
    assert (refusal.status_code, refusal.headers["retry-after"]) == (503, "2")
    assert len(origin.requests) == n_requests
    assert (await client.post(CHAT, json=chat(QUESTION))).headers["x-errata-outcome"] == "edit"
    assert 'errata_upstream_refused{upstream="team"} 1.0' in (await client.get("/metrics")).text


async def test_a_dialogue_goes_on_from_an_edits_answer(
    client: httpx.AsyncClient, editor: Editor, origin: Origin
) -> None:
    await edit(editor, QUESTION, ANSWER)
    first = (await client.post(CHAT, json=chat(QUESTION))).json()["choices"][0]["message"]
    messages = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": first["content"]}]
    body = {"model": "team/tiny", "messages": [*messages, {"role": "user", "content": "and its mayor?"}]}
    assert (await client.post(CHAT, json=body)).headers["x-errata-outcome"] == "passed"
    assert json.loads(origin.body)["messages"][1]["content"] == ANSWER
    body["messages"] += [{"role": "assistant", "content": "Ann"}, {"role": "user", "content": QUESTION}]
    assert (await client.post(CHAT, json=body)).headers["x-errata-outcome"] == "edit"


async def test_a_path_crosses_as_it_is_written_and_never_leads_out_of_v1(
    client: httpx.AsyncClient, origin: Origin
) -> None:
    head = {"x-errata-upstream": "team"}
    assert (await client.get("/v1/files/a%3Fb%20c?x=%2F", headers=head)).status_code == 200
    assert origin.requests[-1][0].startswith(b"GET /v1/files/a%3Fb%20c?x=%2F ")
    n_requests = len(origin.requests)
    for path in ("%2e%2e/admin", "files/%2e%2e%2F%2e%2e%2Fadmin", "files/.%2e/%2E./admin"):
        url = httpx.URL(str(client.base_url), raw_path=f"/v1/{path}".encode())
        refusal = await client.get(url, headers=head)
        assert (refusal.status_code, refusal.json()["code"]) == (422, "invalid_input")
    assert len(origin.requests) == n_requests


async def test_head_and_get_pass_with_their_method_and_bytes(
    client: httpx.AsyncClient, origin: Origin
) -> None:
    head = {"x-errata-upstream": "team", "accept-encoding": "gzip"}
    origin.pieces = of_json(b"{}" * 5_000)
    reply = await client.get("/v1/files", headers=head)
    assert "content-encoding" not in reply.headers
    assert reply.headers["content-length"] == "10000"
    origin.pieces = [b"HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n"]
    await client.head("/v1/files", headers=head)
    assert origin.requests[-1][0].startswith(b"HEAD ")


@pytest.mark.parametrize(("config", "n_models"), [({}, 1), ({"upstream_open": True}, 3)], indirect=["config"])
async def test_callers_without_a_key_see_models_of_open_upstreams_alone(
    client: httpx.AsyncClient, origin: Origin, n_models: int
) -> None:
    origin.pieces = of_json(MODELS)
    assert len((await client.get("/v1/models")).json()["data"]) == 3
    del client.headers["authorization"]
    assert len((await client.get("/v1/models")).json()["data"]) == n_models


async def test_a_wrong_method_of_our_own_path_is_named(client: httpx.AsyncClient, origin: Origin) -> None:
    refusal = await client.get("/v1/answers/batch")
    assert (refusal.status_code, refusal.headers["allow"]) == (405, "POST")
    refusal = await client.delete(CHAT, headers={"content-type": "text/plain"})
    assert (refusal.status_code, refusal.json()["error"]["code"]) == (405, "method_not_allowed")
    assert (await client.get("/v1/nothing")).status_code == 404
    assert origin.requests == []
