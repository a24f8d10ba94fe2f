"""Candidates that name relations are aligned by the rows to which these lead from each subject."""

from collections.abc import Callable, Mapping

import torch

from models.graph.memory import GRAPH
from models.graph.statement import LABEL, RELATION, SourceStatements, Statement
from models.graph.view import GraphView
from models.system import Ask
from models.thu_ernie.answering.answer import Aligner
from models.thu_ernie.answering.reader import Model
from models.thu_ernie.answering.relations import find_relations, list_relations
from models.thu_ernie.answering.rows import RowFinder
from models.thu_ernie.entities.memory import ENTITIES
from models.thu_ernie.entities.table import EntityTable, EntityView
from tests.models.thu_ernie.answering.tiny import ADA, KIM, build_base

GRAPH_VIEW = GraphView(build_base())


def find(*texts: str, graph: GraphView | None = GRAPH_VIEW) -> Mapping[str, str] | None:
    return find_relations(texts, graph, {"oslo"})


def test_a_relation_is_named_by_id_or_label() -> None:
    assert find("Place of Birth", "height") == {"Place of Birth": "birth", "height": "height"}
    assert find("height", "width") == {"height": "height", "width": ""}
    assert find_relations(["height"], GRAPH_VIEW, {"height"}) == {"height": "height"}


def test_answers_are_no_relations() -> None:
    assert find("place of birth", "Oslo") is None
    assert find("width") is None
    assert find() is None
    assert find("height", graph=None) is None


def test_a_label_that_an_edit_gave_names_the_relation() -> None:
    label = SourceStatements("e1", (Statement(LABEL, "home town", "", "set"),))
    view = GraphView(build_base(), {RELATION + "birth": ((1, label),)})
    assert find("home town", graph=view) == {"home town": "birth"}


def test_a_relation_leads_from_the_row_of_the_subject(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    kim, step = finder.of_entity(KIM), finder.find(RELATION + "birth")
    assert kim is not None
    assert step is not None
    choice = list_relations({"birth": "birth", "hometown": "home", "width": ""}, kim, finder)
    [candidate] = choice.candidates
    assert torch.equal(candidate.vectors[0], kim.vector + step.vector)
    assert [drop.answer for drop in choice.exclusions] == ["hometown", "width"]


def test_a_text_is_classified_by_its_best_subject(model: Model, ask_about: Callable[..., Ask]) -> None:
    views = {ENTITIES: EntityView(model.table), GRAPH: GRAPH_VIEW}
    relations = ("spouse", "place of birth", "height")
    ask = ask_about("Kim has been married to Ada.", KIM, ADA, candidates=relations, top_k=3)
    [reading] = Aligner(model).read([ask], [views])
    reply = Aligner(model).reply(reading)
    assert {reply.best, *(other.answer for other in reply.alternatives)} == set(relations)
    rows = {name: row.vector for name, row in reading.linking.vectors.items()}
    queries = model.query(reading.masks, [rows] * len(reading.masks))
    finder = RowFinder(views[ENTITIES])
    logits = {
        float(query @ candidate.vectors[0]): candidate.answer
        for query, mention in zip(queries, reading.linking.subjects, strict=True)
        for candidate in list_relations(
            dict(zip(relations, ("spouse", "birth", "height"), strict=True)), mention.row, finder
        ).candidates
    }
    assert reply.best == logits[max(logits)]
    assert abs(reading.alignment.entries[0].logit - max(logits)) < 1e-4
