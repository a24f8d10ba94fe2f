"""`relational` with the toy reader of its own tests, over a graph of two people, as a service loads it."""

from __future__ import annotations

import torch

from models.graph.base import Base
from models.graph.memory import GraphMemory
from models.graph.statement import LABEL, Statement
from models.relational.memory import RuleMemory
from models.relational.system import RelationalSystem
from models.system import Bundle, Probes
from tests.models.training.relational.toy import toy_model

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


def load(device: torch.device, dtype: torch.dtype) -> Bundle:
    graph = GraphMemory(Base("sha256:" + "0" * 64, STATEMENTS, {}))
    return Bundle(TinyRelational(toy_model()), (graph, RuleMemory()))
