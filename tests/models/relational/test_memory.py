"""Rules are edited like any memory: each its block, the fold a pure function, undo exact.

Rules forbid and require edges and infer new ones, whatever their order.
"""

from dataclasses import replace
from itertools import permutations

import pytest
from pydantic import ValidationError

from models.graph.knowledge import Entity, Fact
from models.memory import EditRefused, FieldsChange, Material, Options
from models.relational.memory import RuleFields, RuleMemory
from models.relational.program import MAX_DEPTH, MAX_INFERRED, EditedRule, RuleProgram
from models.relational.rule import WalkRule
from models.relational.subgraph import Edge, EntityNeighbours, Node, Subgraph, build_subgraph
from models.rules.syntax import RuleError
from service.editing.notes import KINDS
from tests.models.relational.conftest import TINY, WORLD

NO_SPOUSE = 'forbid(E) <= hidden.relation(E,"spouse")'
SHORTCUT = (
    'infer(I,"employer",J) <= hidden.edge(A,I,K), hidden.relation(A,"spouse"), '
    'hidden.edge(B,K,J), hidden.relation(B,"employer")'
)


def material(id: str, rule: str, label: str = "") -> Material:
    [result] = RuleMemory().build([FieldsChange(id, "rule", RuleFields(rule=rule, label=label))], Options())
    assert isinstance(result, Material)
    return result


def test_a_rule_that_cannot_be_read_is_refused_with_its_place() -> None:
    with pytest.raises(ValidationError, match="line 1, column"):
        RuleFields(rule="forbid(E) <= hidden.colour(E)")


def test_only_an_inference_has_a_label() -> None:
    [result] = RuleMemory().build(
        [FieldsChange("r1", "rule", RuleFields(rule=NO_SPOUSE, label="wife"))], Options()
    )
    assert isinstance(result, EditRefused)
    assert result.code == "no_label"


def test_an_inferred_relation_is_called_as_the_curator_says() -> None:
    rule = SHORTCUT.replace('"employer",J)', '"pays",J)')
    memory = RuleMemory()
    program = memory.view(memory.fold([material("r1", rule, "employer")]))
    assert program.rules[0].label == "employer"


def test_a_rule_in_a_log_is_one_line() -> None:
    assert RuleFields(rule=SHORTCUT.replace(", ", ",   ")).summarize() == SHORTCUT


def test_what_a_rule_does_is_noted_under_a_name_that_no_other_kind_of_edit_has() -> None:
    notes = material("r1", NO_SPOUSE).notes
    assert notes == {"effect": "forbid"}
    assert not set(notes) & set(KINDS)


ONLY_PLACES = 'require(E) <= hidden.relation(E,R), in(R,"place_of_birth","country")'
HOME_COUNTRY = (
    'infer(I,"home_country",J) <= hidden.edge(A,I,K), hidden.relation(A,"place_of_birth"), '
    'hidden.edge(B,K,J), hidden.relation(B,"country")'
)


@pytest.fixture
def kim(graph: EntityNeighbours) -> Subgraph:
    return build_subgraph(graph, [WORLD["kim"]], TINY)


def program(*texts: str) -> RuleProgram:
    return RuleProgram(tuple(EditedRule(WalkRule(text), f"e{n}") for n, text in enumerate(texts)))


def relations(graph: Subgraph, rules: RuleProgram) -> set[str]:
    return {graph.edges[place].fact.relation for place in rules.allowed(graph)}


def test_without_rules_the_graph_is_as_it_is(kim: Subgraph) -> None:
    assert RuleProgram().extend(kim) is kim
    assert RuleProgram().allowed(kim) == set(range(len(kim.edges)))


def test_a_rule_forbids_what_it_names_and_no_other(kim: Subgraph) -> None:
    every = relations(kim, RuleProgram())
    assert relations(kim, program(NO_SPOUSE)) == every - {"spouse"}


def test_a_rule_requires_what_it_names(kim: Subgraph) -> None:
    assert relations(kim, program(ONLY_PLACES)) == {"place_of_birth", "country"}


def test_an_inferred_edge_has_the_edit_that_infers_it(kim: Subgraph) -> None:
    with_inferences = program(HOME_COUNTRY).extend(kim)
    new_edges = with_inferences.edges[len(kim.edges) :]
    names = {
        (with_inferences.nodes[e.source].label, with_inferences.nodes[e.target].label) for e in new_edges
    }
    assert names == {("KIM", "NORWAY"), ("ADA", "ITALY")}
    assert {(e.fact.label, e.fact.edit) for e in new_edges} == {("home country", "e0")}
    assert with_inferences.nodes == kim.nodes


INSIDE = 'infer(I,"in",J) <= infer(I,"in",K), infer(K,"in",J)'


def chain(length: int) -> Subgraph:
    """Return places, each in the next one."""
    nodes = tuple(Node(f"p{n}", f"P{n}") for n in range(length + 1))
    edges = (Edge(n, n + 1, Fact("in", "in", f"P{n + 1}", f"p{n + 1}")) for n in range(length))
    return Subgraph(nodes, tuple(edges), {"p0": 0})


def test_a_recursive_rule_reaches_the_end_of_a_chain_whatever_rules_stand_beside_it() -> None:
    graph = chain(5)
    for texts in permutations((INSIDE, 'infer(I,"within",J) <= infer(I,"in",J)', NO_SPOUSE)):
        edges = program(*texts).extend(graph).edges[5:]
        for relation in ("in", "within"):
            pairs = {(e.source, e.target) for e in edges if e.fact.relation == relation}
            every = {(a, b) for a in range(6) for b in range(a + 1, 6)}
            assert pairs == (every - {(n, n + 1) for n in range(5)} if relation == "in" else every)
        [far] = [e for e in edges if (e.source, e.target, e.fact.relation) == (0, 5, "in")]
        assert set(far.basis) == set(graph.edges)


def test_a_recursive_rule_ends_at_a_depth_and_at_a_number_of_edges() -> None:
    step_by_step = 'infer(I,"in",J) <= edge(A,I,K), relation(A,"in"), infer(K,"in",J)'
    targets = {e.target for e in program(step_by_step).extend(chain(20)).edges if e.source == 0}
    assert max(targets) == 1 + MAX_DEPTH
    full = program(INSIDE).extend(chain(60))
    assert len(full.edges) == 60 + MAX_INFERRED
    assert [cut.reason for cut in full.cuts] == ["max_inferred"]
    ring = replace(chain(2), edges=(*chain(2).edges, Edge(2, 0, Fact("in", "in", "P0", "p0"))))
    assert len(program(INSIDE).extend(ring).edges) == 9


def test_the_order_of_rules_does_not_matter(kim: Subgraph) -> None:
    results = set()
    for texts in permutations((NO_SPOUSE, ONLY_PLACES, HOME_COUNTRY)):
        rules = program(*texts)
        with_inferences = rules.extend(kim)
        results.add(
            (
                frozenset(
                    (with_inferences.edges[e].source, with_inferences.edges[e].fact.relation)
                    for e in rules.allowed(with_inferences)
                ),
                len(with_inferences.edges),
            )
        )
    assert len(results) == 1


def test_it_names_the_rule_and_the_edit_that_forbid_an_edge(kim: Subgraph) -> None:
    rules = program(ONLY_PLACES, NO_SPOUSE)
    spouse = next(place for place, edge in enumerate(kim.edges) if edge.fact.relation == "spouse")
    height = next(place for place, edge in enumerate(kim.edges) if edge.fact.relation == "height")
    assert rules.why_forbidden(kim, [height, spouse]) == {
        spouse: ("e1", f"forbidden: {NO_SPOUSE}"),
        height: ("e0", f"not allowed: {ONLY_PLACES}"),
    }
    assert rules.why_forbidden(kim, []) == {}


def test_a_rule_that_cannot_be_applied_changes_nothing_and_is_named(kim: Subgraph) -> None:
    numbers = program("forbid(E) <= hidden.relation(E,R), lt(R,3)")
    assert numbers.allowed(kim) == set(range(len(kim.edges)))
    [sentence] = numbers.failures(kim)
    assert sentence.startswith("edit e0: ")
    assert "compares numbers" in sentence


def test_rules_hold_of_a_graph_without_edges(graph: EntityNeighbours) -> None:
    bare = build_subgraph(graph, [Entity("zed", "Zed")], TINY)
    rules = program(NO_SPOUSE, ONLY_PLACES, HOME_COUNTRY)
    assert rules.failures(bare) == []
    assert rules.extend(bare) is bare
    assert rules.allowed(bare) == set()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("attend(I,J) <= hidden.edge(E,I,J)", "the head has to be"),
        ("forbid(E,J) <= hidden.edge(E,I,J)", "the head has to be"),
        ("infer(I,R,J) <= hidden.edge(E,I,J), hidden.relation(E,R)", "the head has to be"),
        ("forbid(X) <= hidden.edge(E,I,J)", "X"),
        ("forbid(E) <= hidden.colour(E)", "unknown relation colour"),
        ("forbid(E) <= ", "line 1"),
        ("forbid(E) <= hidden.stay(E)\nforbid(E) <= hidden.stay(E)", "write one rule, not 2"),
    ],
)
def test_what_is_no_rule_about_walks_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        WalkRule(text).validate()
