"""Rules with values: PyNeuraLogic's semantics, gradients, neural predicates, and what cannot be evaluated."""

import math

import pytest
import torch
from torch import Tensor, nn

from models.rules import parse
from models.rules.facts import SYMBOL
from models.rules.syntax import RuleError
from tests.parity.attention.facts import Facts, Relation
from tests.parity.attention.functions import COMBINATIONS, TRANSFORMATIONS
from tests.parity.attention.model import Outcome, RuleModel

NUMBERS = Facts.read("a\t0\t2\na\t1\t5\nb\t0\t10\nb\t1\t20\nc\t0\t-4\nc\t1\t2\ne\t0\t\ne\t1\t\n")
ATTENTION = "w(I,J) <= dk, k(J).T, q(I) | product, softmax[J]\natt(I) <= w(I,J), v(J) | product, "


def value_of(outcome: Outcome, name: str) -> list[float]:
    values = outcome.relations[name].values
    assert values is not None
    flat: list[float] = values.flatten().tolist()
    return flat


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("g <= a(I)", 3.5),
        ("g <= a(I) | sum", 7),
        ("g <= a(I)\ng <= b(I)", 18.5),
        ("g <= a(I)\ng <= a(I)", 3.5),
        ("g <= a(I)\ng <= a(J)", 7),
        ("g <= c(I) | relu", 1),
        ("g[-3] <= a(I) | relu", -10.5),
        ("g <= c(I)\ng <= a(I)\ng/0 | tanh", math.tanh(2.5)),
        ("g <= a(I), leq(I,0)", 2),
        ("g <= a(I), e(I) | sum, max", 6),
        ("g <= a(I), hidden.e(I) | sum, max", 5),
        ("g <= a(I), e(I) | product, max", 5),
        ("g <= a(I), b(J) | product, sum", 7 * 30),
        ("g <= a(I)[0.5], b(I) | elproduct, sum", 60),
        ("g <= a(I) | count", 2),
        ("g <= h(I) | sum\nh(I) <= a(I), b(I)", 37),
        (
            "g <= a(I), hidden.near(I,J), b(J) | product, sum\nnear(I,J) <= lt(J,I)\nnear(I,J) <= next(I,J)",
            2 * 20 + 5 * 10,
        ),
    ],
)
def test_the_semantics_are_those_of_the_reference(rules: str, expected: float) -> None:
    assert value_of(RuleModel(rules, {})(NUMBERS), "g") == pytest.approx([expected])


def attention_facts(query: Tensor, key: Tensor, value: Tensor) -> Facts:
    vectors = {"q": query, "k": key, "v": value}
    relations = {name: Relation.of_vectors(rows) for name, rows in vectors.items()}
    return Facts({**relations, "dk": Relation.nullary(query.shape[1] ** -0.5)})


@pytest.mark.parametrize(
    ("aggregation", "expected"), [("sum", [0.66976, 0.66048]), ("avg", [0.33488, 0.33024])]
)
def test_the_articles_default_divides_attention_by_the_number_of_keys(
    aggregation: str, expected: list[float]
) -> None:
    """The worked example of the specification: q = (1,0), k = (1,0), (0,1), v = (1,0), (0,2)."""
    facts = attention_facts(torch.tensor([[1.0, 0]]), torch.eye(2), torch.tensor([[1.0, 0], [0, 2]]))
    outcome = RuleModel(ATTENTION + aggregation, {})(facts)
    assert value_of(outcome, "w") == pytest.approx([0.66976, 0.33024], abs=1e-5)
    assert value_of(outcome, "att") == pytest.approx(expected, abs=1e-5)


def test_without_constraints_rules_are_plain_attention() -> None:
    query, key, value = torch.randn(3, 7, 4)
    output, exists = RuleModel(ATTENTION + "sum", {})(attention_facts(query, key, value)).dense("att", 7)
    assert exists.all()
    torch.testing.assert_close(output, torch.softmax(query @ key.T / 2, -1) @ value, atol=1e-6, rtol=0)


def test_what_has_no_grounding_does_not_exist() -> None:
    query, key, value = torch.randn(3, 7, 4)
    rules = (ATTENTION + "sum").replace("q(I)", "q(I), lt(J,I)")
    output, exists = RuleModel(rules, {})(attention_facts(query, key, value)).dense("att", 7)
    assert exists.tolist() == [False] + [True] * 6
    assert output[0].eq(0).all()


def test_a_macro_in_a_softmax_rule_is_one_softmax() -> None:
    query, key, value = torch.randn(3, 7, 4)
    facts = attention_facts(query, key, value)
    branches = {
        name: Relation(torch.tensor([[n, n // 3] for n in range(7)])) for name in ("branch", "anchor")
    }
    facts = Facts({**facts.relations, **branches})
    outcome = RuleModel((ATTENTION + "sum").replace("q(I)", "q(I), branch_visible"), {})(facts)
    weights = outcome.relations["w"]
    assert weights.values is not None
    sums = torch.zeros(7).index_add(0, weights.terms[:, 0], weights.values.flatten())
    torch.testing.assert_close(sums, torch.ones(7))


def test_gradients_reach_weights_and_facts_and_fixed_weights_have_none() -> None:
    nodes = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    rules = "h(I)[Out] <= n(J)[W], n(I)[V], hidden.e(I,J) | relu, sum\ng <= h(I) | sum"
    edges = Relation(torch.tensor([[0, 1], [1, 2], [2, 0], [3, 3], [3, 1]]))
    weights = {name: torch.randn(2, 3, dtype=torch.float64) for name in ("W", "V")}
    constant = nn.Parameter(torch.randn(1, 2, dtype=torch.float64), requires_grad=False)
    model = RuleModel(rules, {**weights, "Out": constant})

    def run(nodes: Tensor) -> Tensor:
        return model(Facts({"n": Relation.of_vectors(nodes), "e": edges})).relations["g"].values

    assert torch.autograd.gradcheck(run, nodes)
    run(nodes).sum().backward()
    assert model.weights["W"].grad is not None
    assert constant.grad is None
    expected = sum(
        (constant @ torch.relu(weights["W"] @ nodes[j] + weights["V"] @ nodes[i])).sum()
        for i, j in edges.terms.tolist()
    )
    torch.testing.assert_close(run(nodes).sum(), expected)


def test_a_neural_predicate_is_computed_by_its_network_and_trained_with_the_rules() -> None:
    """Which of two kinds a node is, learned from sums over edges alone."""
    nodes, edges = torch.randn(30, 2), torch.randint(0, 30, (40, 2))
    kind = (nodes[:, 0] > 0).float()
    facts = Facts({"n": Relation.of_vectors(nodes), "e": Relation(edges.unique(dim=0))})

    class Scorer(nn.Sequential):
        def forward(self, values: Tensor) -> Tensor:
            scores: Tensor = super().forward(values.flatten(1))
            return scores[..., None]

    model = RuleModel(
        "kind(I) <= n(I) | @scorer\nboth(I,J) <= kind(I), kind(J), hidden.e(I,J)",
        {},
        {"scorer": Scorer(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1), nn.Sigmoid())},
    )
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    for _ in range(150):
        sums = model(facts).relations["both"]
        loss = (sums.values.flatten() - kind[sums.terms].sum(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    in_edges = sums.terms.unique()
    scores = model(facts).relations["kind"].values.flatten()[in_edges]
    assert (scores.round() == kind[in_edges]).float().mean() > 0.9


def test_every_weight_leads_to_the_grounding_that_made_it() -> None:
    facts = Facts.read("e\tparis\tfrance\t1\ne\tparis\teurope\t3\ne\trome\titaly\t2\n")
    outcome = RuleModel("w(I,J) <= e(I,J) | softmax[J]", {})(facts)
    (groundings,) = outcome.groundings
    columns = groundings.bindings.columns
    names = [
        tuple(facts.symbols[int(columns[name][place]) - SYMBOL] for name in "IJ")
        for place in range(groundings.bindings.count)
    ]
    weights = dict(zip(names, groundings.values.flatten().tolist(), strict=True))
    assert weights == pytest.approx(
        {
            ("paris", "france"): 1 / (1 + math.e**2),
            ("paris", "europe"): 1 / (1 + math.e**-2),
            ("rome", "italy"): 1,
        }
    )


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("g <= a(I)[W]", r"line 1, column 6: the weight W of a\(I\)\[W\] is not given"),
        ("g <= a(I) | @net", "line 1, column 1: the network @net is not given"),
        ("g <= norm1(I)", "unknown relation norm1"),
        ("a(I) <= b(I)", "a has facts and a rule"),
        (
            "g(I) <= a(I), v(I) | elproduct\ng(I) <= v(I), v(I).T, v(I).T | product",
            "line 2, column 1: values of g",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_refused(rules: str, message: str) -> None:
    facts = Facts({**NUMBERS.relations, "v": Relation.of_vectors(torch.ones(2, 3))})
    with pytest.raises(RuleError, match=message):
        RuleModel(rules, {})(facts)


def test_a_weight_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="the weight W is not finite"):
        RuleModel("g <= a(I)[W]", {"W": torch.tensor([[1.0, torch.nan]])})


def test_weights_are_saved_by_name() -> None:
    model = RuleModel("g[Wo] <= a(I)[W]", {"W": torch.tensor(2.0), "Wo": torch.tensor([[1.0], [2.0]])})
    assert set(model.state_dict()) == {"weights.W", "weights.Wo"}
    assert value_of(model(NUMBERS), "g") == [7, 14]


def test_the_language_names_exactly_the_functions_there_are() -> None:
    assert set(parse.COMBINATIONS) == set(COMBINATIONS)
    assert set(parse.TRANSFORMATIONS) == set(TRANSFORMATIONS)
