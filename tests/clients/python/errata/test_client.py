"""Both clients against a served application: typed answers, reading what was written, the same requests."""

from __future__ import annotations

import inspect
import json
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from errata import AsyncErrata, EditItem, Errata, Retry, errors
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


def test_a_model_that_is_not_sure_says_so(errata: Errata) -> None:
    answer = errata.ask("Who is the mayor of Xyzzy?")
    assert (answer.answer, answer.reason, answer.best) == (None, "unsure", "Nobody")


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


def test_a_dry_run_writes_nothing(errata: Errata, tiny: Any) -> None:
    receipt = errata.edit(PERU, "Cusco", dry_run=True)
    assert (receipt.version, tiny.head, errata.last_version) == (None, 0, None)
    assert receipt.report.edits[0].after == "Cusco"


def test_many_edits_are_one_commit(errata: Errata, tiny: Any) -> None:
    errata.edit_many([EditItem(question=f"q{n}", answer=f"a{n}") for n in range(30)], message="all")
    assert tiny.head == 1
    assert errata.show(1).edits[29].answer == "a29"


def test_a_stale_writer_is_told_the_current_version(errata: Errata, tiny: Any) -> None:
    errata.edit(PERU, "Cusco")
    with pytest.raises(errors.StaleVersion) as error:
        errata.edit(PERU, "Puno", expected_version=0)
    assert (error.value.current, tiny.head) == (1, 1)


def test_one_bad_question_does_not_spoil_the_batch(errata: Errata) -> None:
    results = errata.ask_many([PERU, {"question": ""}, PERU_TOO]).results
    assert [result.answer.answer if result.answer else None for result in results] == ["Lima", None, "Lima"]
    assert results[1].problem is not None
    assert results[1].problem.code == "invalid_input"


def test_the_history_is_read_page_by_page(errata: Errata) -> None:
    for answer in ("Cusco", "Puno", "Tacna"):
        errata.edit(PERU, answer, message=f"to {answer}")
    page = errata.log(limit=2)
    assert ([commit.version for commit in page.versions], page.head) == ([3, 2], 3)
    assert [commit.message for commit in errata.log(before=2).versions] == ["to Cusco"]
    change = errata.diff(0, 3).changes[0]
    assert (change.before, change.after) == ("Lima", "Tacna")


def test_a_wrong_key_is_refused(url: str) -> None:
    with Errata(url, key="wrong") as errata, pytest.raises(errors.Unauthorized):
        errata.log()


def test_a_question_needs_no_key(url: str) -> None:
    with Errata(url) as errata:
        assert errata.ask(PERU).answer == "Lima"


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
    "keys",
    "make_key",
    "rotate_key",
    "revoke_key",
    "audit",
    "backup",
    "restore",
    "senses",
    "bias",
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


def test_threads_may_share_a_client(errata: Errata) -> None:
    answers: list[str | None] = []
    threads = [threading.Thread(target=lambda: answers.append(errata.ask(PERU).answer)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["Lima"] * 8


def test_a_closed_client_says_that_a_new_one_is_needed(url: str, tiny: Any) -> None:
    with Errata(url) as errata:
        pass
    with pytest.raises(errors.Closed, match=r"is closed .* make a new one"):
        errata.ask(PERU)
    with errata, pytest.raises(errors.Closed):
        errata.ask(PERU)
    assert tiny.requests == []


async def test_a_closed_asyncio_client_says_the_same(async_errata: AsyncErrata, tiny: Any) -> None:
    await async_errata.aclose()
    with pytest.raises(errors.Closed, match=r"is closed .* make a new one"):
        await async_errata.ask(PERU)
    assert tiny.requests == []


def test_a_client_that_is_closed_while_it_pauses_stops(tiny: Any, trouble: Any, url: str) -> None:
    trouble(503, "not_ready", times=9)
    errata = Errata(url, retry=Retry(first_pause_s=0.5))
    threading.Timer(0.2, errata.close).start()
    with pytest.raises(errors.Closed):
        errata.ask(PERU)
    assert len(tiny.requests) == 1


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Errata(url) as errata:
        assert errata.ask(PERU).answer == "Lima"
    with Errata("http://errata.test") as elsewhere, pytest.raises(errors.Unreachable):
        elsewhere.ask(PERU)


def test_what_is_sent_says_who_sends_it() -> None:
    headers_seen: list[httpx.Headers] = []

    def answer(request: httpx.Request) -> httpx.Response:
        headers_seen.append(request.headers)
        return httpx.Response(503)

    with Errata(transport=httpx.MockTransport(answer), key="k") as errata, pytest.raises(errors.NotReady):
        errata.ask("q")
    assert headers_seen[0]["user-agent"].startswith("errata-python/")
    assert headers_seen[0]["authorization"] == "Bearer k"
