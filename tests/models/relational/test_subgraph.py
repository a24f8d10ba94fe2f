"""The neighbourhood holds everything within the hops, in a fixed order, and names the parts that were cut off."""

from dataclasses import replace

from models.graph.base import Base
from models.graph.memory import GraphMemory, TripleChange
from models.graph.statement import LABEL, Statement
from models.graph.view import GraphView
from models.memory import Image, Material, Options
from models.relational.neighbours import EntityNeighbours
from models.relational.subgraph import Subgraph, build_subgraph, inverse_label
from tests.models.relational.conftest import TINY, WORLD


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
