"""The neighbourhood holds everything within the hops, in a fixed order, and names the parts that were cut off."""

from dataclasses import replace

from models.blocks import Image
from models.graph.base import Base
from models.graph.memory import GraphMemory, TripleChange
from models.graph.statement import LABEL, Statement
from models.graph.view import GraphView
from models.memory import Material, Options
from models.relational.subgraph import Cut, EntityNeighbours, Subgraph, build_subgraph, inverse_label
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
