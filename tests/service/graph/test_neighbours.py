"""A system that names its reach is given the neighbours of a question's entities, at the version that is asked."""

import asyncio
from collections.abc import Sequence

import pytest

from service.editing.editor import Editor
from service.errors import LedgerUnavailable
from service.graph import rows
from service.ledger.connection import Connection
from service.replicas.replica import Replica
from tests.service.editing.requests import revert
from tests.service.graph.requests import fact, import_file, tsv
from tests.service.parts import ask

CHILE = "What is the capital of the neighbour of Chile?"
OZ = "What is the capital of the neighbour of Oz?"
FAR = "What is the currency of the neighbour of the neighbour of Oz?"
SYSTEM = "traveller", "tests.service.toy_graph:load_traveller"
FILE = tsv(
    ("Oz", "shares_border_with", "Ev"),
    ("Ev", "capital", "Evna"),
    ("Ev", "shares_border_with", "Ix"),
    ("Ix", "currency", "token"),
)


async def test_a_path_through_the_entities_of_an_import_is_found(editor: Editor, replica: Replica) -> None:
    assert (await ask(replica, CHILE))["answer"] == "Lima"
    assert (await ask(replica, OZ))["answer"] is None
    [report] = (await import_file(editor, FILE, wait="all"))["report"]["edits"]
    for question, answer in ((OZ, "Evna"), (FAR, "token")):
        reply = await ask(replica, question)
        assert (reply["answer"], reply["edits"]) == (answer, [report["id"]])


async def test_each_version_has_its_own_neighbours(editor: Editor, replica: Replica) -> None:
    await import_file(editor, FILE, wait="all")
    await fact(editor, "Ev", "capital", "Evoluna", wait="all")
    await revert(editor, 1, wait="all")
    replies = await asyncio.gather(*(ask(replica, OZ, version=version) for version in range(4)))
    assert [reply["answer"] for reply in replies] == [None, "Evna", "Evoluna", None]


async def test_a_hop_of_a_batch_is_one_read_and_a_second_batch_reads_nothing(
    editor: Editor, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    await import_file(editor, FILE, wait="all")
    reading, reads = rows.read, []

    async def count_reads(connection: Connection, names: Sequence[str]) -> dict[str, bytes | None]:
        reads.append(len(names))
        return await reading(connection, names)

    monkeypatch.setattr(rows, "read", count_reads)
    for _ in range(2):
        replies = await asyncio.gather(*(ask(replica, question) for question in (OZ, FAR, CHILE)))
        assert [reply["answer"] for reply in replies] == ["Evna", "token", "Lima"]
    assert len(reads) == 3, "the names of the questions, then two hops; the third hop's ends are not read"


async def test_the_report_compares_the_neighbours_of_both_sides(editor: Editor) -> None:
    """No probe names the edited entity, so an answer can change only by its neighbourhood."""
    receipt = await fact(editor, "Peru", "capital", "Cusco")
    changes = [(c["question"], c["before"], c["after"]) for c in receipt["report"]["side_effects"]]
    assert changes == [(CHILE, "Lima", "Cusco")]
    file = tsv(("Peru", "capital", "Arequipa"))
    receipt = await import_file(editor, file)
    changes = [(c["question"], c["before"], c["after"]) for c in receipt["report"]["side_effects"]]
    assert changes == [(CHILE, "Cusco", "Arequipa")]
    receipt = await fact(editor, "France", "capital", "Lyon")
    assert receipt["report"]["side_effects"] == []


async def test_a_question_that_needs_neighbours_waits_for_redis_and_no_other_does(
    editor: Editor, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    await import_file(editor, FILE, wait="all")
    assert (await ask(replica, CHILE))["answer"] == "Lima"

    async def refuse(connection: Connection, names: Sequence[str]) -> dict[str, bytes | None]:
        raise LedgerUnavailable("Redis is away")

    monkeypatch.setattr(rows, "read", refuse)
    near, far = await asyncio.gather(ask(replica, CHILE), ask(replica, OZ))
    assert (near["answer"], far["status"]) == ("Lima", 503)
