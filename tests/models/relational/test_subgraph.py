"""The neighbourhood holds what lies within the hops, in a fixed order, and says what was cut."""

from dataclasses import replace

from models.graph.base import Base
from models.graph.memory import GraphMemory, TripleChange
from models.graph.statement import LABEL, Statement
from models.graph.view import GraphView
from models.memory import Image, Material, Options
from models.relational.neighbours import EntityNeighbours
from models.relational.subgraph import Cut, Subgraph, build_subgraph
from tests.models.relational.conftest import TINY, WORLD, entity


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
