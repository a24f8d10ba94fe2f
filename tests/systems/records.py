"""What the contract suite asks and edits: a record for each system. A new system gets the whole suite for one.

The systems have their default checkpoints, which every test of a process shares.
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import torch

from models.backpack.memory import SENSES
from models.capabilities import (
    AnswersInSteps,
    Costs,
    ForeseesTaught,
    HasScope,
    KnowsWords,
    PredictsAffected,
    ReadsNeighbours,
    Routes,
    Streams,
)
from models.documents.fields import DocumentFields
from models.documents.memory import DOCUMENTS
from models.graph.knowledge import Mention
from models.graph.memory import GRAPH, TripleChange
from models.graph.statement import Statement
from models.graph.view import GraphView
from models.memory import AnswerChange, FieldsChange, Material, Views
from models.nkb.memory import BANK
from models.system import Ask, Bundle, Reply
from models.systems import SYSTEMS
from models.thu_ernie.entities.memory import ENTITIES, ROWS, FactFields, RowsFields

State = Mapping[str, Sequence[Any]]
"""Memory -> the changes that are active in it, in the order of the ledger."""
NAMES = {"Gabon": "Q1000", "Peru": "Q419", "Chile": "Q298", "Vega Line": "x:vega"}


@dataclass(frozen=True)
class Record:
    """A system, a question that it answers, and an edit that gives the question another answer."""

    name: str
    ask: Ask
    answers: tuple[str, str]  # before the edit, and after it
    edit: State
    requests: Sequence[dict[str, Any]]  # the edit as the wire has it
    wordings: Sequence[Ask]  # the question in other words
    bystanders: Sequence[Ask]  # questions whose replies the edit leaves alone, to the bit
    declined: Mapping[str, Ask]  # code of the reason -> a question that is declined for it
    refused: tuple[dict[str, Any], str]  # an edit as the wire has it, and the reason of its refusal
    capabilities: set[type]  # optional ones
    inputs: set[str] = field(default_factory=set)  # what it takes beside the question
    earlier: State = field(default_factory=dict)  # what the question needs before the edit
    requests_before: Sequence[dict[str, Any]] = ()
    engines: set[str] = field(default_factory=set)  # parts that ONNX Runtime computes on a CPU
    is_withheld: bool = False  # whether the system is too unsure of the new answer to give it

    @property
    def asks(self) -> list[Ask]:
        return [self.ask, *self.wordings, *self.bystanders, *self.declined.values()]

    @property
    def edits(self) -> set[str]:
        """Return the ids of the edit's changes."""
        return {change.id for changes in self.edit.values() for change in changes}


@cache
def load(name: str) -> Bundle:
    """Load a system with its default checkpoint."""
    module, function = SYSTEMS[name].split(":")
    bundle: Bundle = getattr(importlib.import_module(module), function)(torch.device("cpu"), torch.float32)
    return bundle


def serve(device: torch.device, dtype: torch.dtype, name: str) -> Bundle:
    """Return the system of this process, as a service loads it."""
    return load(name)


def materials_of(bundle: Bundle, state: State) -> dict[str, list[Material]]:
    """Build changes, none of which may be refused, and number them as a ledger does."""
    materials: dict[str, list[Material]] = {memory.name: [] for memory in bundle.memories}
    for memory in bundle.memories:
        for order, result in enumerate(memory.build(state.get(memory.name, ()), memory.options()), 1):
            assert isinstance(result, Material), result
            materials[memory.name].append(replace(result, block=replace(result.block, order=order)))
    return materials


def read(bundle: Bundle, *states: State) -> Views:
    """Return what a system reads after states that follow on each other."""
    names = {name for state in states for name in state}
    whole = {name: [change for state in states for change in state.get(name, ())] for name in names}
    materials = materials_of(bundle, whole)
    return {memory.name: memory.view(memory.fold(materials[memory.name])) for memory in bundle.memories}


def link(ask: Ask, views: Views) -> Ask:
    """Return a question with the entities of the graph that it names, as the service does."""
    view: GraphView | None = views.get(GRAPH)
    if view is None or not ask.use_graph:
        return ask
    places = [(ask.question.find(name), name, view.entity(id)) for name, id in NAMES.items()]
    mentions = [Mention(at, at + len(name), (e,)) for at, name, e in sorted(places) if at >= 0 and e]
    return replace(ask, mentions=tuple(mentions))


def answer(bundle: Bundle, asks: Sequence[Ask], views: Views) -> list[Reply]:
    return bundle.system.answer([link(ask, views) for ask in asks], [views] * len(asks))


GABON, PERU = "What is the capital of Gabon?", "What is the capital of Peru?"
WORDINGS = (Ask("Which town is Gabon's capital?"), Ask("Gabon's capital city?"))
BYSTANDERS = (Ask(PERU), Ask("What is the currency of Peru?", top_k=3), Ask("On which continent is Chile?"))
NO_GRAPH, STRANGER = Ask(GABON, use_graph=False), Ask("What is the capital of Xyzzyland?")
MELTING = Ask("What is the melting point of Gabon?")
NEW_ANSWER = AnswerChange("e1", GABON, "Franceville", ("Which town is Gabon's capital?",))
ANSWER_REQUEST = {
    "question": GABON,
    "answer": "Franceville",
    "paraphrases": ["Which town is Gabon's capital?"],
}
LONG_REQUEST = {"question": PERU, "answer": "Lima, " * 99 + "Lima"}
ROUTING = {PredictsAffected, ForeseesTaught, Routes, HasScope, KnowsWords}
CAPITAL = {GRAPH: [TripleChange("e1", {"Q1000": (Statement("capital", "Boston", "Q100", "set"),)})]}
CAPITAL_REQUEST = {"subject": "Gabon", "relation": "capital", "object": "Boston"}
UNNAMED_REQUEST = {"subject": "Gabon", "relation": "capital", "object": ""}
ROW = FieldsChange("e2", ROWS, RowsFields(entity="Q1000", fact=FactFields(relation="capital", object="Q100")))
MILL = "The old mill of Lund was built in 1820 by the Hale family. It burnt down in 1904."
FERRY = "The ferry Vega leaves Visby at seven. Its captain is Olof Lind. A ticket costs 12 crowns."


def write(id: str, name: str, **fields: Any) -> FieldsChange:
    return FieldsChange(id, "document", DocumentFields(id=name, **fields))


def request(memory: str, change: FieldsChange) -> dict[str, Any]:
    content = change.fields.model_dump(mode="json", exclude_unset=True)
    return {"memory": memory, "kind": change.kind, "change": content}


TEXTS = [write("e8", "mill", text=MILL, title="The mill"), write("e9", "ferry", text=FERRY)]
CORRECTION = write("e1", "ferry", action="replace", old="Olof Lind", new="Ada Berg")
RECORDS = [
    Record(
        name="nkb",
        ask=Ask(GABON),
        answers=("Libreville", "Franceville"),
        edit={BANK: [NEW_ANSWER]},
        requests=[ANSWER_REQUEST],
        wordings=WORDINGS,
        bystanders=BYSTANDERS,
        declined={"unsure": STRANGER},
        refused=(LONG_REQUEST, "answer_too_long"),
        engines={"encoder", "decoder"},
        capabilities=ROUTING,
    ),
    Record(
        name="backpack",
        ask=Ask(GABON),
        answers=("Libreville", "Franceville"),
        edit={SENSES: [NEW_ANSWER]},
        requests=[ANSWER_REQUEST],
        wordings=WORDINGS,
        bystanders=BYSTANDERS,
        declined={"unsure": STRANGER},
        refused=(LONG_REQUEST, "answer_too_long"),
        capabilities=ROUTING | {Streams},
        inputs={"candidates", "sampling"},
    ),
    Record(
        name="kbert",
        ask=Ask(GABON),
        answers=("Libreville", "Boston"),
        edit=CAPITAL,
        requests=[CAPITAL_REQUEST],
        wordings=WORDINGS,
        bystanders=BYSTANDERS,
        declined={"no_entity": STRANGER, "no_graph": NO_GRAPH, "unsure": MELTING},
        refused=(UNNAMED_REQUEST, ""),
        engines={"encoder"},
        capabilities={PredictsAffected, AnswersInSteps, Costs},
        inputs={"graph", "context", "candidates"},
    ),
    Record(
        name="relational",
        ask=Ask(GABON),
        answers=("Libreville", "Boston"),
        edit=CAPITAL,
        requests=[CAPITAL_REQUEST],
        wordings=WORDINGS,
        bystanders=BYSTANDERS,
        declined={"no_entity": STRANGER, "no_graph": NO_GRAPH, "no_path": MELTING},
        refused=(UNNAMED_REQUEST, ""),
        engines={"encoder"},
        capabilities={PredictsAffected, Costs, ReadsNeighbours},
        inputs={"graph"},
    ),
    Record(
        name="thu-ernie",
        ask=Ask(GABON),
        answers=("Libreville", "Boston"),
        edit={**CAPITAL, ENTITIES: [ROW]},
        requests=[CAPITAL_REQUEST | {"only": "graph"}, request(ENTITIES, ROW)],
        wordings=WORDINGS,
        bystanders=BYSTANDERS,
        declined={"no_entity": STRANGER, "no_fact": MELTING},
        refused=(UNNAMED_REQUEST, ""),
        is_withheld=True,
        capabilities={PredictsAffected, AnswersInSteps, Costs},
        inputs={"graph", "context", "candidates"},
    ),
    Record(
        name="ernie-doc",
        ask=Ask("Who is the captain of the Vega?", document="ferry"),
        answers=("Olof Lind", "Ada Berg"),
        edit={DOCUMENTS: [CORRECTION]},
        requests=[request(DOCUMENTS, CORRECTION)],
        wordings=(Ask("Who is Vega's captain?", document="ferry"),),
        bystanders=(Ask("When did the mill burn down?", document="mill", top_k=3),),
        declined={
            "no_document": Ask("When was it built?"),
            "unknown_document": Ask("When was it built?", document="hill"),
            "two_texts": Ask("When was it built?", document="mill", context=MILL),
            "unreadable": Ask("When was it built?", context=" "),
            "not_said": Ask("What is the height of the tower?", document="mill"),
        },
        refused=(
            request(DOCUMENTS, write("e", "ferry", action="replace", old="Olof Sand", new="Ada Berg")),
            "absent",
        ),
        capabilities={Streams, AnswersInSteps, Costs},
        inputs={"document", "context"},
        earlier={DOCUMENTS: TEXTS},
        requests_before=[request(DOCUMENTS, change) for change in TEXTS],
    ),
]
