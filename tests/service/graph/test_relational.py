"""The relational reader walks over the facts of an import, served as the other systems are."""

import torch

from models.graph.base import Base
from models.graph.memory import GraphMemory
from models.graph.statement import LABEL, Statement
from models.relational.memory import RuleMemory
from models.relational.system import RelationalSystem
from models.system import Bundle, Probes
from service.editing.editor import Editor
from service.replicas.replica import Replica
from tests.models.training.relational.test_learning import toy_model
from tests.service.graph.requests import fact, import_file, tsv
from tests.service.parts import ask

SYSTEM = "relational", f"{__name__}:load_tiny"
FILE = tsv(("Zoe", "spouse", "Bo"), ("Bo", "employer", "Initech"), ("Initech", "founded", "1999"))
LONG_QUESTION = "When was the employer of the spouse of Zoe founded?"


STATEMENTS = {
    "ada": (Statement(LABEL, "Ada"), Statement("spouse", "Kim", "kim")),
    "kim": (Statement(LABEL, "Kim"), Statement("employer", "Acme", "")),
}
QUESTION = "Who employs the spouse of Ada?"


class TinyRelational(RelationalSystem):
    """The system with one question as its probe, in place of those of a pack that its graph lacks."""

    @property
    def probes(self) -> Probes:
        return Probes(core=(QUESTION,))


def load_tiny(device: torch.device, dtype: torch.dtype) -> Bundle:
    graph = GraphMemory(Base("sha256:" + "0" * 64, STATEMENTS, {}))
    return Bundle(TinyRelational(toy_model()), (graph, RuleMemory()))


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
