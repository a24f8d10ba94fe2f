"""Both clients against a served application: typed answers, reading what was written, the same requests."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from errata import AsyncErrata, EditItem, Errata, errors
from errata.calls import Calls

PERU, PERU_TOO = "What is the capital of Peru?", "Peru's capital city?"
METHODS = sorted(
    name
    for name, _ in inspect.getmembers(Calls, inspect.isfunction)
    if not name.startswith("_") and name != "learn"
)


def requests(tiny: Any) -> list[tuple[str, str, Any]]:
    return [
        (request.method, str(request.url.path), parse_body(request, body)) for request, body in tiny.requests
    ]


def parse_body(request: Any, body: bytes) -> Any:
    return body if request.url.path.endswith("/import") else json.loads(body or b"null")


def test_a_question_has_an_answer_with_its_version(errata: Errata) -> None:
    answer = errata.ask(PERU)
    assert (answer.answer, answer.version, answer.edits) == ("Lima", 0, [])
    assert answer.timings.total_ms == 14


def test_an_edit_is_asked_again_and_undone(errata: Errata) -> None:
    receipt = errata.edit(PERU, "Cusco", paraphrases=[PERU_TOO], message="try")
    assert (receipt.version, receipt.all_applied) == (1, True)
    assert errata.ask(PERU_TOO).answer == "Cusco"
    assert errata.ask(PERU, version=0).answer == "Lima"
    assert errata.revert(1).version == 2
    assert errata.ask(PERU).answer == "Lima"


def test_a_client_waits_for_what_it_has_written(errata: Errata, tiny: Any) -> None:
    errata.ask(PERU)
    errata.edit(PERU, "Cusco")
    errata.ask(PERU)
    errata.rollback(0)
    errata.ask(PERU)
    min_versions = [body.get("min_version") for _, path, body in requests(tiny) if path == "/v1/answers"]
    assert min_versions == [None, 1, 2]
    assert errata.last_version == 2


def test_a_write_that_some_replica_lacks_is_waited_for_too(errata: Errata, tiny: Any) -> None:
    tiny.replica_lags = True
    reply = errata.send(errata.calls.edit(PERU, "Cusco"))
    assert (reply.status, reply.value.all_applied, errata.last_version) == (202, False, 1)


@pytest.mark.parametrize("client", [Errata, AsyncErrata])
@pytest.mark.parametrize("name", METHODS)
def test_both_clients_offer_every_call_as_it_is_described(client: type[Any], name: str) -> None:
    method, call = getattr(client, name), getattr(Calls, name)
    assert inspect.getdoc(method) == inspect.getdoc(call)
    assert list(inspect.signature(method).parameters) == list(inspect.signature(call).parameters)
    assert inspect.iscoroutinefunction(method) == (client is AsyncErrata)


SCRIPT: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("ask", (PERU,), {}),
    ("edit", (PERU, "Cusco"), {"paraphrases": [PERU_TOO]}),
    ("ask", (PERU_TOO,), {"top_k": 2}),
    ("ask_many", ([PERU, PERU_TOO],), {}),
    ("edit_many", ([EditItem(question="q", answer="a")],), {"dry_run": True}),
    ("fact", ("Peru", "capital", "Puno"), {"act": "add"}),
    ("define_relation", ("capital",), {"holds": "one", "dry_run": True}),
    ("change", ("rules/program", "rule", {"text": "x"}), {"dry_run": True}),
    ("import_graph", (Path(__file__).parent / "peru.tsv",), {"dry_run": True}),
    ("entities", ("Peru",), {}),
    ("entity", ("wd:Q419",), {"version": 3}),
    ("revert", (1,), {}),
    ("rollback", (1,), {}),
    ("log", (), {}),
    ("show", (1,), {}),
    ("show_edit", ("e1",), {}),
    ("scope", (PERU,), {}),
    ("why", (PERU,), {}),
    ("diff", (0, 1), {}),
    ("check", (), {}),
    ("last_check", (), {}),
    ("replicas", (), {}),
    ("models", (), {}),
    ("memory", (), {}),
    ("whoami", (), {}),
]


# What the tiny service has no routes for is asked of the real application: tests/service/http, tests/service/backup.
ELSEWHERE = {
    "table",
    "active_edits",
    "relations",
    "gaps",
    "gap",
    "drop_gap",
    "check_gaps",
    "propose",
    "proposals",
    "proposal",
    "approve",
    "reject",
    "tags",
    "tag",
    "untag",
    "reviews",
    "review",
    "hits",
    "keys",
    "make_key",
    "rotate_key",
    "revoke_key",
    "audit",
    "backup",
    "restore",
    "senses",
    "put_document",
    "put_document_file",
    "get_document",
    "list_documents",
    "remove_document",
}


async def test_both_clients_say_the_same_and_hear_the_same(
    url: str, errata: Errata, async_errata: AsyncErrata, tiny: Any
) -> None:
    assert {name for name, _, _ in SCRIPT} == set(METHODS) - ELSEWHERE
    blocking = [getattr(errata, name)(*args, **how) for name, args, how in SCRIPT]
    first = requests(tiny)
    tiny.__init__()
    async_results = [await getattr(async_errata, name)(*args, **how) for name, args, how in SCRIPT]
    assert requests(tiny) == first
    assert async_results == blocking


def test_a_closed_client_says_that_a_new_one_is_needed(url: str, tiny: Any) -> None:
    with Errata(url) as errata:
        pass
    with pytest.raises(errors.Closed, match=r"is closed .* make a new one"):
        errata.ask(PERU)
    with errata, pytest.raises(errors.Closed):
        errata.ask(PERU)
    assert tiny.requests == []
