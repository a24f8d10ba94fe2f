"""Rules decide which edges exist for a walk."""

import pytest

from models.attention.rules.syntax import RuleError
from models.graph.knowledge import Entity
from models.relational.constraints import EVERY_EDGE, Constraints
from models.relational.neighbours import EntityNeighbours
from models.relational.subgraph import Subgraph, build_subgraph
from tests.models.relational.conftest import TINY, WORLD


@pytest.fixture
def kim(graph: EntityNeighbours) -> Subgraph:
    return build_subgraph(graph, [WORLD["kim"]], TINY)


def test_the_rule_of_every_edge_allows_what_the_graph_has_without_being_compiled(kim: Subgraph) -> None:
    with_mask = Constraints(f"{EVERY_EDGE}\n# the same, with_mask")
    assert Constraints().allow_everything
    assert not with_mask.allow_everything
    assert with_mask.allowed(kim) == Constraints().allowed(kim) == set(range(len(kim.edges)))


def test_a_node_attends_only_to_edges_that_leave_it(kim: Subgraph) -> None:
    pairs = Constraints().compile(kim).pairs.tolist()
    edges = [(node, edge) for node, edge in pairs if edge < len(kim.edges)]
    assert edges == sorted((edge.source, place) for place, edge in enumerate(kim.edges))


def test_a_rule_can_forbid_a_relation(kim: Subgraph) -> None:
    rules = Constraints('attend(I,E) <= hidden.edge(E,I,J), hidden.relation(E,R), neq(R,"spouse")')
    allowed = rules.allowed(kim)
    assert {kim.edges[e].fact.relation for e in set(range(len(kim.edges))) - allowed} == {"spouse"}


def test_a_rule_can_forbid_the_way_back_to_the_start(graph: EntityNeighbours) -> None:
    around = build_subgraph(graph, [WORLD["norway"]], TINY)
    back = Constraints("attend(I,E) <= hidden.edge(E,I,J), hidden.start(S), neq(J,S)").allowed(around)
    assert {around.nodes[around.edges[e].target].label for e in set(range(len(around.edges))) - back} == {
        "NORWAY"
    }


def test_rules_that_allow_no_edge_leave_only_staying(kim: Subgraph) -> None:
    assert (
        Constraints('attend(I,E) <= hidden.edge(E,I,J), hidden.relation(E,"nothing")').allowed(kim) == set()
    )


def test_rules_hold_of_a_graph_without_edges(graph: EntityNeighbours) -> None:
    bare = build_subgraph(graph, [Entity("zed", "Zed")], TINY)
    assert Constraints('attend(I,E) <= hidden.edge(E,I,J), hidden.relation(E,"x")').allowed(bare) == set()


def test_it_says_which_constraint_forbids_an_edge(kim: Subgraph) -> None:
    rules = Constraints('attend(I,E) <= hidden.edge(E,I,J), hidden.relation(E,R), neq(R,"spouse")')
    spouse = next(e for e, edge in enumerate(kim.edges) if edge.fact.relation == "spouse")
    explanation = rules.explain(kim, spouse)
    assert not explanation.is_allowed
    assert "neq(R," in str(explanation)


def test_a_rule_about_something_else_is_refused(kim: Subgraph) -> None:
    with pytest.raises(RuleError, match="unknown relation colour"):
        Constraints("attend(I,E) <= hidden.edge(E,I,J), hidden.colour(E,R)").allowed(kim)
