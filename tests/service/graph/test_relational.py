"""The relational reader walks over the facts of an import, served as the other systems are."""

from __future__ import annotations

from service.editing.editor import Editor
from service.replicas.replica import Replica
from tests.service.graph.requests import fact, import_file, tsv
from tests.service.parts import ask
from tests.service.tiny_relational import QUESTION

SYSTEM = "relational", "tests.service.tiny_relational:load"
FILE = tsv(("Zoe", "spouse", "Bo"), ("Bo", "employer", "Initech"), ("Initech", "founded", "1999"))
LONG_QUESTION = "When was the employer of the spouse of Zoe founded?"


async def test_a_path_of_three_imported_facts_is_walked_and_proven(editor: Editor, replica: Replica) -> None:
    assert (await ask(replica, LONG_QUESTION))["reason"] == "no_entity"
    [report] = (await import_file(editor, FILE, wait="all"))["report"]["edits"]
    reply = await ask(replica, LONG_QUESTION)
    assert reply["answer"] == "1999"
    assert [(f["subject"], f["label"], f["object"], f["edit"]) for f in reply["facts"]] == [
        ("Zoe", "spouse", "Bo", report["id"]),
        ("Bo", "employer", "Initech", report["id"]),
        ("Initech", "founded", "1999", report["id"]),
    ]


async def test_the_report_says_which_answers_an_import_changes_two_facts_away(
    editor: Editor, replica: Replica
) -> None:
    report = (await import_file(editor, tsv(("Kim", "employer", "Initech")), wait="all"))["report"]
    [effect] = report["side_effects"]
    assert (effect["question"], effect["before"]) == (QUESTION, "Acme")
    assert effect["after"] == (await ask(replica, QUESTION))["answer"] == "Acme, Initech"
    assert (await fact(editor, "Zoe", "spouse", "Bo"))["report"]["side_effects"] == []
