"""The neighbourhood holds everything within the hops, in a fixed order, and names the parts that were cut off.

Walks: a weight is the product of its hops, facts of one label are walked together, and the beam bounds the work.
Names are masked, and their tokens are found again.
"""

from dataclasses import replace

import pytest
import torch

from models.blocks import Image
from models.graph.base import Base
from models.graph.knowledge import Entity, Mention
from models.graph.memory import GraphMemory, TripleChange
from models.graph.statement import LABEL, Statement
from models.graph.view import GraphView
from models.memory import Material, Options
from models.relational.network import RelationalNetwork
from models.relational.question import mask_mentions
from models.relational.subgraph import Cut, EntityNeighbours, Subgraph, build_subgraph, inverse_label
from models.relational.walk import Field, Labels, Search, Searcher
from tests.models.relational.conftest import TINY, WORLD, entity
from tests.models.training.relational.test_learning import reader


def triples(graph: Subgraph) -> set[tuple[str, str, str]]:
    return {(graph.nodes[e.source].label, e.fact.relation, graph.nodes[e.target].label) for e in graph.edges}


def test_a_neighbourhood_of_one_hop_holds_the_facts_of_the_start(graph: EntityNeighbours) -> None:
    around = build_subgraph(graph, [WORLD["kim"]], replace(TINY, hops=1))
    assert triples(around) == {
        ("KIM", "place_of_birth", "OSLO"),
        ("KIM", "spouse", "ADA"),
        ("KIM", "height", "1.80 m"),
    }
    assert around.starts == {"kim": 0}
    assert around.cuts == ()


def test_each_further_hop_adds_the_facts_of_what_was_reached(graph: EntityNeighbours) -> None:
    two, three = (triples(build_subgraph(graph, [WORLD["kim"]], replace(TINY, hops=hops))) for hops in (2, 3))
    assert ("OSLO", "country", "NORWAY") in two
    assert not any(subject == "NORWAY" for subject, _, _ in two)
    assert {("NORWAY", "neighbours", "SWEDEN"), ("ROME", "country", "ITALY")} <= three
    assert not any(subject == "ITALY" for subject, _, _ in three)
    assert not any(subject == "SWEDEN" for subject, _, _ in three)


def test_an_entity_that_two_paths_reach_is_one_node(graph: EntityNeighbours) -> None:
    around = build_subgraph(graph, [WORLD["kim"]], TINY)
    assert sum(node.id == "oslo" for node in around.nodes) == 1


def test_a_text_is_no_entity_of_the_same_name() -> None:
    graph = EntityNeighbours({}.get)
    start = entity("kim", nickname="ADA", spouse=":ada")
    assert len(build_subgraph(graph, [start], TINY).nodes) == 3


def test_what_the_bounds_leave_out_is_reported(graph: EntityNeighbours) -> None:
    narrow = build_subgraph(graph, [WORLD["kim"]], replace(TINY, hops=1, fan_out=1))
    assert triples(narrow) == {("KIM", "place_of_birth", "OSLO")}
    assert narrow.cuts == (Cut("KIM", 2, "fan_out"),)
    full = build_subgraph(graph, [WORLD["kim"]], replace(TINY, hops=1, max_nodes=2))
    assert full.cuts == (Cut("KIM", 2, "max_nodes"),)


def test_entities_of_the_question_that_have_no_room_are_reported(graph: EntityNeighbours) -> None:
    around = build_subgraph(graph, [WORLD["kim"], WORLD["ada"]], replace(TINY, max_nodes=1))
    assert around.starts == {"kim": 0}
    assert Cut("ADA", 2, "max_nodes") in around.cuts


def test_the_edges_that_leave_a_node_are_grouped_by_relation(graph: EntityNeighbours) -> None:
    around = build_subgraph(graph, [WORLD["norway"]], TINY)
    assert {relation: len(edges) for relation, edges in around.leaving[0].items()} == {
        "capital": 1,
        "neighbours": 2,
    }


BACK = replace(TINY, fan_in=4)


def walks(graph: Subgraph) -> set[tuple[str, str, str]]:
    return {(graph.nodes[e.source].label, e.label, graph.nodes[e.target].label) for e in graph.edges}


def test_with_a_fan_in_a_fact_may_be_walked_back_to_its_subject() -> None:
    graph = EntityNeighbours.of_entities(WORLD)
    around = build_subgraph(graph, [WORLD["oslo"]], replace(BACK, hops=1))
    assert walks(around) == {
        ("OSLO", "country", "NORWAY"),
        ("OSLO", inverse_label("place of birth"), "KIM"),
        ("OSLO", inverse_label("capital"), "NORWAY"),
    }
    [edge] = [edge for edge in around.edges if edge.is_inverse and edge.fact.relation == "capital"]
    assert (around.nodes[edge.subject].label, around.nodes[edge.object].label) == ("NORWAY", "OSLO")
    assert not any(edge.is_inverse for edge in build_subgraph(graph, [WORLD["oslo"]], TINY).edges)


def test_a_path_goes_on_from_a_subject() -> None:
    around = build_subgraph(EntityNeighbours.of_entities(WORLD), [WORLD["rome"]], replace(BACK, hops=2))
    assert {("ROME", inverse_label("place of birth"), "ADA"), ("ADA", "occupation", "painter")} <= walks(
        around
    )
    assert ("ADA", inverse_label("spouse"), "KIM") in walks(around)


def test_subjects_that_the_bounds_leave_out_are_reported() -> None:
    graph = EntityNeighbours.of_entities(WORLD)
    narrow = build_subgraph(graph, [WORLD["oslo"]], replace(BACK, hops=1, fan_in=1))
    assert sum(edge.is_inverse for edge in narrow.edges) == 1
    assert Cut("OSLO", 1, "fan_in") in narrow.cuts
    full = build_subgraph(graph, [WORLD["oslo"]], replace(BACK, hops=1, max_nodes=1))
    assert sum(cut.n_facts for cut in full.cuts if cut.reason == "max_nodes") == 3


def test_a_fact_that_an_edit_replaced_is_not_walked_back() -> None:
    statements = {
        "a": (Statement(LABEL, "A"), Statement("home", "X", "x")),
        "x": (Statement(LABEL, "X"),),
        "y": (Statement(LABEL, "Y"),),
    }
    memory = GraphMemory(Base("sha256:" + "0" * 64, statements, {}))
    [material] = memory.build(
        [TripleChange("e1", {"a": (Statement("home", "Y", "y", act="set"),)})], Options()
    )
    assert isinstance(material, Material)

    def homes(view: GraphView) -> dict[str, set[tuple[str, str, str]]]:
        graph = EntityNeighbours.of_view(view)
        starts = [entity for id in ("x", "y") if (entity := view.entity(id)) is not None]
        return {start.id: walks(build_subgraph(graph, [start], replace(BACK, hops=1))) for start in starts}

    back = inverse_label("home")
    assert homes(memory.view(memory.base)) == {"x": {("X", back, "A")}, "y": set()}
    assert homes(memory.view(memory.fold([material]))) == {"x": set(), "y": {("Y", back, "A")}}


def test_a_view_of_the_graph_gives_neighbours_at_its_version() -> None:
    base = Base(
        "sha256:" + "0" * 64,
        {
            "a": (Statement(LABEL, "A"), Statement("friend", "B", "b")),
            "b": (Statement(LABEL, "B"), Statement("home", "X")),
        },
        {},
    )
    memory = GraphMemory(base)
    change = TripleChange("e1", {"b": (Statement("home", "Y", act="set"),)})
    [material] = memory.build([change], Options())
    assert isinstance(material, Material)
    after = memory.view(memory.fold([material]))

    def homes(view: GraphView) -> list[str]:
        around = EntityNeighbours.of_view(view).neighbours(["a"], 2, 8, 8)
        return [fact.object for fact in around["b"].facts]

    assert homes(after) == ["Y"]
    assert homes(memory.view(Image(memory.base.base))) == ["X"]


def search(graph: Subgraph, beams: int = 64) -> Search:
    """Search with random weights; the rules of walks do not depend on training."""
    torch.manual_seed(1)
    network = RelationalNetwork(replace(TINY, beams=beams)).requires_grad_(False)
    reading = network.read(reader().read([mask_mentions("What is this?", [])]))
    labels = Labels.of(reader().label_vectors({edge.fact.label: None for edge in graph.edges}), network)
    field = Field(graph, frozenset(range(len(graph.edges))), ((0, 0),))
    [result] = Searcher(network, reading, [field], labels).search()
    return result


@pytest.fixture
def norway(graph: EntityNeighbours) -> Subgraph:
    return build_subgraph(graph, [WORLD["norway"]], TINY)


def test_the_weights_of_all_walks_add_up_to_one(norway: Subgraph) -> None:
    result = search(norway)
    total = sum(walk.weight for walk in (*result.finished, *result.broken))
    assert total == pytest.approx(1, abs=1e-5)


def test_the_weight_of_a_walk_is_at_most_the_product_of_its_hops(norway: Subgraph) -> None:
    for walk in search(norway).finished:
        product = 1.0
        for step in walk.steps:
            product *= step.weight
        assert walk.weight <= product + 1e-6
        assert (walk.weight == pytest.approx(product, abs=1e-6)) or len(walk.steps) < TINY.hops


def test_facts_of_one_label_are_walked_together(norway: Subgraph) -> None:
    walks = {tuple(step.label for step in walk.steps): walk for walk in search(norway).finished}
    labels = [norway.nodes[node].label for node in walks["neighbours", "languages"].nodes]
    assert labels == ["Swedish", "Finnish"]
    assert {norway.nodes[node].label for node in walks["neighbours",].nodes} == {"SWEDEN", "FINLAND"}


def test_no_walk_ends_where_it_starts_without_a_fact(norway: Subgraph) -> None:
    assert all(walk.steps for walk in search(norway).finished)


def test_the_beam_bounds_the_walks_of_each_hop(norway: Subgraph) -> None:
    wide, narrow = search(norway), search(norway, beams=1)
    assert len(narrow.finished) < len(wide.finished)
    assert narrow.finished[0].weight <= wide.finished[0].weight + 1e-6


def test_an_edge_that_is_not_allowed_is_no_option(norway: Subgraph) -> None:
    field = Field(norway, frozenset(range(1, len(norway.edges))), ((0, 0),))
    assert "capital" not in field.options(0)
    assert "capital" in Field(norway, frozenset(range(len(norway.edges))), ((0, 0),)).options(0)


def test_each_label_has_the_row_of_its_own_vector_whichever_was_read_before() -> None:
    network = RelationalNetwork(TINY).requires_grad_(False)
    reader().label_vectors(["river mouth"])
    vectors = reader().label_vectors(["mountain range", "river mouth"])
    labels = Labels.of(vectors, network)
    for label in ("mountain range", "river mouth"):
        alone = Labels.of(reader().label_vectors([label]), network)
        assert torch.equal(labels.keys[labels.rows[label]], alone.keys[-1])


KIM, OSLO = Entity("kim", "Kim Lee"), Entity("oslo", "Oslo")


def test_a_name_is_replaced_by_a_stand_in() -> None:
    masked = mask_mentions("Was Kim Lee born in Oslo?", [Mention(20, 24, (OSLO,)), Mention(4, 11, (KIM,))])
    assert masked.text == "Was X born in X?"
    assert masked.places == (4, 14)
    assert [mention.entities for mention in masked.mentions] == [(KIM,), (OSLO,)]


def test_of_names_that_overlap_the_longest_is_masked_and_names_without_entities_stay() -> None:
    masked = mask_mentions(
        "Was Kim Lee born in Oslo?", [Mention(4, 7, (OSLO,)), Mention(4, 11, (KIM,)), Mention(20, 24, ())]
    )
    assert masked.text == "Was X born in Oslo?"


def test_equal_questions_about_other_names_are_read_alike() -> None:
    texts = reader().read(
        [
            mask_mentions("Where was Kim Lee born?", [Mention(10, 17, (KIM,))]),
            mask_mentions("Where was Oslo born?", [Mention(10, 14, (OSLO,))]),
        ]
    )
    assert torch.equal(texts.states[0], texts.states[1])


def test_the_tokens_of_a_stand_in_are_marked() -> None:
    texts = reader().read(
        [
            mask_mentions("Was Kim Lee born in Oslo?", [Mention(4, 11, (KIM,)), Mention(20, 24, (OSLO,))]),
            mask_mentions("Kim Lee?", [Mention(0, 7, (KIM,))]),
        ]
    )
    assert texts.starts.nonzero().tolist() == [[0, 0, 2], [0, 1, 5], [1, 0, 1]]


def test_a_label_has_one_vector_however_often_it_is_read() -> None:
    first = reader().label_vectors(["capital", "mayor"])
    again = reader().label_vectors(["mayor"])
    assert torch.equal(first["mayor"], again["mayor"])
    assert abs(float(first["mayor"].norm()) - 1) < 1e-5  # a unit vector, in float32
