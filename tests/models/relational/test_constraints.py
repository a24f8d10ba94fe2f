"""Rules decide which edges exist for a walk."""

import pytest

from models.relational.constraints import Constraints
from models.relational.neighbours import EntityNeighbours
from models.relational.subgraph import Subgraph, build_subgraph
from tests.models.relational.conftest import TINY, WORLD


@pytest.fixture
def kim(graph: EntityNeighbours) -> Subgraph:
    return build_subgraph(graph, [WORLD["kim"]], TINY)


def test_a_rule_can_forbid_a_relation(kim: Subgraph) -> None:
    rules = Constraints('attend(I,E) <= hidden.edge(E,I,J), hidden.relation(E,R), neq(R,"spouse")')
    allowed = rules.allowed(kim)
    assert {kim.edges[e].fact.relation for e in set(range(len(kim.edges))) - allowed} == {"spouse"}


def test_rules_that_allow_no_edge_leave_only_staying(kim: Subgraph) -> None:
    assert (
        Constraints('attend(I,E) <= hidden.edge(E,I,J), hidden.relation(E,"nothing")').allowed(kim) == set()
    )


def test_it_says_which_constraint_forbids_an_edge(kim: Subgraph) -> None:
    rules = Constraints('attend(I,E) <= hidden.edge(E,I,J), hidden.relation(E,R), neq(R,"spouse")')
    spouse = next(e for e, edge in enumerate(kim.edges) if edge.fact.relation == "spouse")
    explanation = rules.explain(kim, spouse)
    assert not explanation.is_allowed
    assert "neq(R," in str(explanation)
