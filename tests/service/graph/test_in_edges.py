"""A system that walks from objects to subjects is given the subjects, of base, edits and imports, at each version."""

import asyncio
from collections.abc import Sequence

import pytest
import redis

from service.editing.editor import Editor
from service.graph import rows
from service.ledger.connection import Connection
from service.ledger.embedded.server import EmbeddedValkey
from service.replicas.replica import Replica
from tests.service.editing.requests import revert
from tests.service.graph.requests import fact, import_file, tsv
from tests.service.parts import ask

OF_LIMA, OF_CUSCO = "Whose is Lima?", "Whose is Cusco?"
SYSTEM = "returner", "tests.service.toy_graph:load_returner"
FILE = tsv(
    ("Inti", "birthplace", "Cusco"),
    ("Killa", "birthplace", "Cusco"),
    ("Oz", "capital", "Cusco"),
    ("Ann", "home", "Oz"),
    ("Late", "home", "Nowhere"),
    ("Nowhere", "motto", "none"),
)


async def test_the_subjects_of_an_object_are_found_at_each_version(editor: Editor, replica: Replica) -> None:
    await fact(editor, "Peru", "capital", "Cusco", wait="all")
    await fact(editor, "Chile", "capital", "Lima", wait="all")
    await revert(editor, 1, wait="all")
    pairs = [
        [(await ask(replica, question, version=version))["answer"] for question in (OF_LIMA, OF_CUSCO)]
        for version in range(4)
    ]
    assert pairs == [["Peru", None], [None, "Peru"], ["Chile", "Peru"], ["Chile, Peru", None]]


async def test_an_import_lists_its_facts_by_their_objects(editor: Editor, replica: Replica) -> None:
    await import_file(editor, FILE, wait="all")
    assert (await ask(replica, OF_CUSCO))["answer"] == "Inti, Killa, Oz"
    assert (await ask(replica, "Whose is Oz?"))["answer"] == "Ann", "an entity that the file itself names"
    assert (await ask(replica, "Whose is Nowhere?"))["answer"] == "Late", "it is named after it was used"
    assert (await ask(replica, OF_LIMA))["answer"] == "Peru"
    await revert(editor, 1, wait="all")
    assert (await ask(replica, OF_CUSCO))["answer"] is None


async def test_of_a_hub_the_first_subjects_of_each_relation_are_read(
    editor: Editor, replica: Replica
) -> None:
    births = [(f"Person {number:04}", "birthplace", "Cusco") for number in range(700)]
    await import_file(editor, tsv(*births, ("Oz", "capital", "Cusco")), wait="all")
    answer = (await ask(replica, OF_CUSCO))["answer"]
    assert len(answer.split(", ")) == 4
    assert "Oz" in answer


async def test_objects_and_subjects_of_a_batch_are_read_together(
    editor: Editor, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    await import_file(editor, FILE, wait="all")
    reading, reads = rows.read, []

    async def count_reads(connection: Connection, names: Sequence[str]) -> dict[str, bytes | None]:
        reads.append(len(names))
        return await reading(connection, names)

    monkeypatch.setattr(rows, "read", count_reads)
    for _ in range(2):
        await asyncio.gather(*(ask(replica, question) for question in (OF_LIMA, OF_CUSCO, "Whose is Oz?")))
    assert len(reads) == 3, "the names of the questions, the facts about them, their subjects"


async def test_the_rows_of_a_dry_run_are_gone_with_it(
    editor: Editor, replica: Replica, valkey: EmbeddedValkey
) -> None:
    def n_rows() -> int:
        with redis.Redis.from_url(valkey.url) as client:
            return len(list(client.scan_iter(b"{errata}:graph:*")))

    before = n_rows()
    await import_file(editor, FILE, dry_run=True)
    assert n_rows() == before
