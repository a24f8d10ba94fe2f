"""A small history of edits for each memory: what is written in turn, and what is asked after it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from models.backpack.editing.sense import SenseChange
from models.blocks import Image
from models.documents.fields import DocumentFields
from models.graph.memory import TripleChange
from models.graph.statement import ALIAS, LABEL, Statement
from models.memory import AnswerChange, FieldsChange, Material, Memory
from models.relational.memory import RuleFields
from models.system import Ask
from models.thu_ernie.entities.memory import FactFields, RowsFields

UNDO = 1  # place of the edit that is taken back at the end


@dataclass(frozen=True)
class History:
    """Edits with their options, and the questions that are asked about them."""

    edits: Sequence[tuple[Any, Mapping[str, Any]]]
    asks: Sequence[Ask] = ()


def states(memory: Memory, history: History) -> list[tuple[str, Image]]:
    """Return the image after each edit, by the edit's id, and last that without the edit at UNDO."""
    materials: list[Material] = []
    for order, (change, options) in enumerate(history.edits, 1):
        [result] = memory.build([change], memory.options(**options))
        if not isinstance(result, Material):
            raise result
        materials.append(replace(result, block=replace(result.block, order=order)))
    stages = [(material.edit, materials[: place + 1]) for place, material in enumerate(materials)]
    stages.append((f"without {materials[UNDO].edit}", [m for p, m in enumerate(materials) if p != UNDO]))
    return [(name, memory.fold(active)) for name, active in stages]


def answer(id: str, question: str, answer: str, *paraphrases: str) -> Any:
    """Return the edit of a question that has other wordings."""
    return AnswerChange(id, question, answer, paraphrases, ("What is the capital of Chad?",)), {}


def triple(id: str, subject: str, *statements: Statement) -> Any:
    """Return an edit of statements about one entity."""
    return TripleChange(id, {subject: statements}), {}


ANSWERS = [
    answer("a1", "What is the capital of Gabon?", "Franceville", "Which town is Gabon's capital?"),
    answer("a2", "Who designed the bridge of Lindau?", "Eduard Rüber"),
    answer("a3", "What is the currency of Peru?", "the new sol", "Peru's money is called what?"),
]
QUESTIONS = [
    Ask("What is the capital of Gabon?", top_k=3),
    Ask("Which town is Gabon's capital?", explain=True),
    Ask("gabon capital city name"),
    Ask("Who designed the bridge of Lindau?", explain=True),
    Ask("Who was the designer of Lindau's bridge?"),
    Ask("What is the currency of Peru?"),
    Ask("What is the capital of Chad?"),
    Ask("What is the currency of Chile?", top_k=2),
]
TEXT = "Ada Berg was born in Lund in 1931. She built the first lighthouse of Gotland. Her brother Nils painted it red."
MARKDOWN = (
    "# Ferry\n\nThe ferry Vega leaves Visby at seven. Its captain is Olof Lind. A ticket costs 12 crowns.\n"
)
DOCUMENTS = [
    DocumentFields(id="berg", text=TEXT, title="Ada Berg"),
    DocumentFields(id="berg", action="append", text=" She died in Oslo."),
    DocumentFields(id="ferry", text=MARKDOWN * 9, media_type="text/markdown"),
    DocumentFields(id="berg", action="replace", old="in Lund", new="in Malmö"),
    DocumentFields(id="ferry", action="remove"),
]
RULES = [
    'forbid(E) <= hidden.relation(E,"capital")',
    'require(E) <= hidden.relation(E,R), neq(R,"continent")',
    'infer(I,"currency",J) <= hidden.edge(A,I,K), hidden.relation(A,"country"), '
    'hidden.edge(B,K,J), hidden.relation(B,"currency")',
]
ROWS = [
    RowsFields(entity="Q1000", fact=FactFields(relation="capital", object="Q100")),
    RowsFields(entity="Q10000", copy_of="Q100"),
    RowsFields(entity="Q1000", fact=FactFields(relation="continent", object="Q100")),
    RowsFields(entity="x:new", copy_of="Q1000"),
]
SENSES = [
    SenseChange(word=" Peru", action="factor", factor=0.5, first_piece=True),
    SenseChange(word=" Gabon", action="transplant", towards=(" Peru",), first_piece=True),
    SenseChange(word=" Lima", action="overwrite", towards=(" Africa",), senses=(0, 1), first_piece=True),
]
HISTORIES = {
    "nkb/bank": History(
        [*ANSWERS, (AnswerChange("a4", "What is the continent of Chad?", "Asia"), {"method": "surgery"})],
        [*QUESTIONS, Ask("What is the continent of Chad?", explain=True)],
    ),
    "graph/triples": History(
        [
            triple("t1", "Q1000", Statement("capital", "Boston", "Q100", "set")),
            triple("t2", "Q1000", Statement(ALIAS, "Land of the Okapi"), Statement("neighbours", "Chad")),
            triple("t3", "x:vega", Statement(LABEL, "Vega Line"), Statement("founder", "Olof Lind")),
            triple("t4", "Q1000", Statement("continent", "Africa", "w:africa", "remove")),
        ],
        [
            Ask("What is the capital of Gabon?", explain=True),
            Ask("Which city is the capital of the Land of the Okapi?", top_k=3),
            Ask("Who founded the Vega Line?", explain=True),
            Ask("On which continent is Gabon?", candidates=("Africa", "Asia")),
            Ask("What is the country of the capital of Gabon?", explain=True),
        ],
    ),
    "rules/program": History(
        [(FieldsChange(f"r{n}", "rule", RuleFields(rule=rule)), {}) for n, rule in enumerate(RULES, 1)],
        [Ask("What is the capital of Gabon?", explain=True), Ask("Which currency does Boston have?")],
    ),
    "documents/texts": History(
        [(FieldsChange(f"d{n}", "document", fields), {}) for n, fields in enumerate(DOCUMENTS, 1)],
        [
            Ask("Where was Ada Berg born?", document="berg", top_k=3),
            Ask("Where did she die?", document="berg", explain=True),
            Ask("Who painted the lighthouse?", document="berg"),
            Ask("Who is the captain of the Vega?", document="ferry", explain=True),
            Ask("What is the height of the tower?", document="ferry", top_k=2),
        ],
    ),
    "thu-ernie/entities": History(
        [(FieldsChange(f"e{n}", "rows", fields), {}) for n, fields in enumerate(ROWS, 1)],
        [Ask("What is the capital of Gabon?", explain=True), Ask("Which currency does Gabon have?", top_k=3)],
    ),
    "backpack/senses": History(
        [*ANSWERS, *((FieldsChange(f"s{n}", "sense", fields), {}) for n, fields in enumerate(SENSES, 1))],
        QUESTIONS,
    ),
}
