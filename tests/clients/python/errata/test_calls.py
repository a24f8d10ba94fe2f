"""The request of each method, before anything is sent."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from errata import errors, wire
from errata.calls import Calls
from errata.request import Call
from pydantic import JsonValue

BASE = httpx.URL("http://errata.test")
RECEIPT = {
    "kind": "edit",
    "replicas": [],
    "all_applied": True,
    "report": {
        "edits": [],
        "probes": 0,
        "side_effects": [],
        "broken_tests": [],
        "capacity": {"slots_used": 0, "slots_reserved": 1},
        "timings": {"editor_ms": 0, "report_ms": 0, "commit_ms": 0, "replicas_ms": 0},
    },
}


def request(call: Call[Any], base: httpx.URL = BASE) -> httpx.Request:
    return call.to_httpx(base, {"authorization": "Bearer k"}, timeout_s=9.0)


def body(call: Call[Any]) -> dict[str, JsonValue]:
    content: dict[str, JsonValue] = json.loads(request(call).content)
    return content


def after_writing(version: int | None) -> Calls:
    calls = Calls()
    calls.learn(version)
    return calls


def test_every_option_of_a_question_is_sent() -> None:
    options: dict[str, Any] = {
        "model": "kbert",
        "context": ["c", "d"],
        "candidates": ["Lima"],
        "document": "d",
        "version": 4,
        "kg": "none",
        "min_version": 3,
        "top_k": 5,
        "explain": True,
    }
    assert body(Calls().ask("Peru?", **options)) == {"question": "Peru?", **options}


def test_every_option_of_an_edit_is_sent() -> None:
    options: dict[str, Any] = {
        "message": "m",
        "expected_version": 0,
        "method": "surgery",
        "wait": "none",
        "dry_run": True,
    }
    edit = {"question": "q", "answer": "a", "paraphrases": ["p"], "model": "kbert"}
    call = Calls().edit("q", "a", paraphrases=["p"], model="kbert", **options)
    assert body(call) == {"edits": [edit], **options}


@pytest.mark.parametrize(
    ("call", "target"),
    [
        (Calls().ask("q"), "POST /v1/answers"),
        (Calls().ask_many(["q"]), "POST /v1/answers/batch"),
        (Calls().edit("q", "a"), "POST /admin/edits"),
        (Calls().revert(1), "POST /admin/reverts"),
        (Calls().rollback(0), "POST /admin/rollbacks"),
        (Calls().log(limit=5, before=9), "GET /admin/versions?limit=5&before=9"),
        (Calls().show(3), "GET /admin/versions/3"),
        (Calls().diff(0, 2), "GET /admin/diff?from=0&to=2"),
        (Calls().check(), "POST /admin/checks"),
        (Calls().last_check(), "GET /admin/checks"),
        (Calls().replicas(), "GET /admin/replicas"),
        (Calls().models(), "GET /v1/models"),
        (Calls().memory(), "GET /v1/memory"),
        (Calls().fact("Peru", "capital", "Lima"), "POST /admin/edits"),
        (Calls().define_relation("capital", holds="one"), "POST /admin/edits"),
        (Calls().change("rules/program", "rule", {"text": "x"}), "POST /admin/edits"),
        (
            Calls().entities("São Paulo", limit=5, version=2),
            "GET /v1/entities?q=S%C3%A3o+Paulo&limit=5&version=2",
        ),
        (Calls().entity("http://x.org/a b?c#d"), "GET /v1/entities/http%3A%2F%2Fx.org%2Fa%20b%3Fc%23d"),
        (Calls().senses("Peru", sense=2, exact=True), "GET /v1/senses?word=Peru&sense=2&exact=true"),
        (Calls().senses(" Peru", version=0), "GET /v1/senses?word=+Peru&version=0"),
        (Calls().put_document_file("mill", b"x", "text/html"), "PUT /v1/documents/mill"),
        (Calls().put_document("mill", "x"), "PUT /v1/documents/mill"),
        (Calls().remove_document("mill", dry_run=True), "DELETE /v1/documents/mill?dry_run=true"),
        (Calls().get_document("mill", version=0), "GET /v1/documents/mill?version=0"),
        (Calls().list_documents(limit=5, after="a"), "GET /v1/documents?limit=5&after=a"),
        (Calls().entity("wd:Q419", version=0), "GET /v1/entities/wd%3AQ419?version=0"),
        (Calls().whoami(), "GET /admin/keys/self"),
        (Calls().tags(), "GET /admin/tags"),
        (Calls().tag("v1.0", 3), "PUT /admin/tags/v1.0"),
        (Calls().untag("v1.0"), "DELETE /admin/tags/v1.0"),
        (Calls().keys(), "GET /admin/keys"),
        (Calls().make_key("anna", ["ask"], expires_in_s=60.0), "POST /admin/keys"),
        (Calls().rotate_key("anna@x.org"), "POST /admin/keys/anna%40x.org/rotations"),
        (Calls().revoke_key("anna"), "DELETE /admin/keys/anna"),
        (Calls().audit(), "GET /admin/audit?limit=50"),
        (
            Calls().audit(limit=9, name="anna", refused=True, since=datetime.fromtimestamp(60, UTC)),
            "GET /admin/audit?limit=9&name=anna&refused=true&since=60.0",
        ),
    ],
)
def test_every_call_goes_to_its_route(call: Call[Any], target: str) -> None:
    http_request = request(call)
    assert f"{http_request.method} {http_request.url.raw_path.decode()}" == target
    assert http_request.headers["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    "make",
    [lambda calls: calls.edit("q", "a"), lambda calls: calls.revert(1), lambda calls: calls.rollback(0)],
)
def test_every_write_can_be_repeated_because_it_carries_a_key(make: Any) -> None:
    first, second = make(Calls()), make(Calls())
    assert not first.reads
    assert first.repeatable(errors.Unreachable("cut off"))
    assert request(first).headers["idempotency-key"] != request(second).headers["idempotency-key"]
    call = Calls().revert(1, idempotency_key="mine")
    assert request(call).headers["idempotency-key"] == "mine"
    assert not Call("POST", "/x", wire.EditReceipt, reads=False).repeatable(errors.Unreachable("cut off"))


@pytest.mark.parametrize("key", ["", "två", "a b", "x" * 201, "a\nb"])
def test_a_key_that_cannot_stand_in_a_header_is_refused(key: str) -> None:
    with pytest.raises(errors.Malformed, match="idempotency_key"):
        Calls().revert(1, idempotency_key=key)


@pytest.mark.parametrize(
    ("calls", "options", "expected"),
    [
        (after_writing(7), {}, {"min_version": 7}),
        (after_writing(None), {}, {}),  # after a dry run
        (Calls(last_version=4), {}, {"min_version": 4}),
        (after_writing(7), {"min_version": None}, {}),
        (after_writing(7), {"min_version": 2}, {"min_version": 2}),
        (after_writing(7), {"version": 2}, {"version": 2}),
    ],
)
def test_a_question_asks_for_what_was_written_before_unless_its_caller_says_otherwise(
    calls: Calls, options: dict[str, Any], expected: dict[str, int]
) -> None:
    assert body(calls.ask("q", **options)) == {"question": "q", **expected}


def test_a_batch_takes_questions_in_three_forms_and_fills_what_they_leave_out() -> None:
    questions = ["one", wire.AnswerRequest(question="two", top_k=3), {"question": "three", "model": "kbert"}]
    assert body(after_writing(7).ask_many(questions, model="thu-ernie"))["questions"] == [
        {"question": "one", "model": "thu-ernie", "min_version": 7},
        {"question": "two", "model": "thu-ernie", "min_version": 7, "top_k": 3},
        {"question": "three", "model": "kbert", "min_version": 7},
    ]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda calls: calls.ask(" "), "question: "),
        (lambda calls: calls.ask("q", top_k=99), "top_k: "),
        (lambda calls: calls.ask("q", version=-1), "version: "),
        (lambda calls: calls.ask_many([]), "questions: "),
        (lambda calls: calls.ask_many([{"question": object()}]), "questions.0"),
        (lambda calls: calls.edit("q", ""), "answer: "),
        (lambda calls: calls.edit("q", "a", mesage="typo"), "mesage: "),
        (lambda calls: calls.edit_many([]), "edits: "),
        (lambda calls: calls.revert(0), "version: "),
        (lambda calls: calls.rollback(-1), "to: "),
        (lambda calls: calls.show("x"), "version: "),
        (lambda calls: calls.show(None), "version: has to be a whole number"),
        (lambda calls: calls.fact("", "capital", "Lima"), "subject: "),
        (lambda calls: calls.fact("Peru", "capital", "Lima", act="replace"), "act: "),
        (lambda calls: calls.fact("Peru", "capital", "Lima", only="nkb"), "only: "),
        (lambda calls: calls.define_relation("capital"), "say how many values it `holds`"),
        (lambda calls: calls.entities(" "), "q: "),
        (lambda calls: calls.entity(""), "id: "),
        (lambda calls: calls.ask("q", kg="some"), "kg: "),
    ],
)
def test_a_bad_argument_is_refused_before_it_is_sent_and_named(make: Any, name: str) -> None:
    with pytest.raises(errors.Malformed) as error:
        make(Calls())
    assert name in str(error.value)
    assert (error.value.status, error.value.code) == (422, "invalid_input")
