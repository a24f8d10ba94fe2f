"""Rules compute what PyNeuraLogic computes: weights and outputs of every golden case, and which queries have a result.

Tolerance 1e-12 in float64, in which the reference computes; 1e-5 for masks in float32.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor

from tests.parity.attention.facts import Facts, Relation
from tests.parity.attention.mask import Shape, compile_mask
from tests.parity.attention.model import RuleModel
from tests.parity.conftest import golden

DOUBLE: dict[str, Any] = {"atol": 1e-12, "rtol": 0}
SINGLE: dict[str, Any] = {"atol": 1e-5, "rtol": 0}
ATTENTION = """
w(I,J) <= dk, k(J).T, q(I){constraint} | product, softmax[J]
att(I) <= w(I,J), v(J)                 | product, sum
"""
RELATIONAL = """
q(I,J) <= n(I)[Wq_node], e(I,J)[Wq_edge] | sum
k(I,J) <= n(J)[Wk_node], e(I,J)[Wk_edge] | sum
v(I,J) <= n(J)[Wv_node], e(I,J)[Wv_edge] | sum
w(I,J) <= dk, k(I,J).T, q(I,J)           | product, softmax[J]
att(I) <= w(I,J), v(I,J)                 | product, sum
"""
RELATION_TYPE = """
k(I,J) <= n(J)[Wk_{type}], hidden.{type}(I,J)
v(I,J) <= n(J)[Wv_{type}], hidden.{type}(I,J)
"""
RELATION_TYPES = """
q(I)   <= n(I)[Wq]
{types}
w(I,J) <= dk, k(I,J).T, q(I) | product, softmax[J]
att(I) <= w(I,J), v(I,J)     | product, sum
"""
MULTIHEAD = """
q(H,I)   <= wq(H), x(I) | product
k(H,I)   <= wk(H), x(I) | product
v(H,I)   <= wv(H), x(I) | product
w(H,I,J) <= dk, k(H,J).T, q(H,I), hidden.vis(I,J) | product, softmax[J]
head(H,I) <= w(H,I,J), v(H,J) | product, sum
att(I)[Wo] <= head(H,I) | concat
"""


RESIDUE = re.compile(r"j mod (\d+) == (\d+)")  # in the words that describe a case
MATRIX = "hidden.vis(I,J)"


@dataclass(frozen=True)
class Golden:
    folder: Path

    @property
    def cases(self) -> dict[str, dict[str, Any]]:
        content = json.loads((self.folder / "cases.json").read_text(encoding="utf-8"))
        return dict(content["cases"])

    def case(self, name: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
        return self.cases[name], load_file(self.folder / f"{name}.safetensors")


def kind_of(case: dict[str, Any]) -> str:
    """Return the rules that a case is for, by its sizes."""
    kinds = {"num_heads": "heads", "edge_dim": "edges", "relation_types": "types"}
    return next((kind for key, kind in kinds.items() if key in case), "attention")


def constraints_of(name: str, case: dict[str, Any]) -> tuple[str, str]:
    """Return the constraint of a case on query I and key J: in the closed world of the reference, and as a mask."""
    if "window" in case:
        return f"leq(D,{case['window']}), sub(I,J,D)", f"window({case['window']})"
    if "stride" in case:
        return f"mod(D,{case['stride']},0), sub(I,J,D)", f"stride({case['stride']})"
    if residue := RESIDUE.search(case.get("rule", "")):
        text = f"leq(J,I), mod(J,{residue[1]},{residue[2]})"
        return text, text
    return {"full": ("true", "true"), "causal": ("leq(J,I)", "causal")}.get(name, (MATRIX, MATRIX))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `attention`, `edges`, `types` and `heads` the names of the cases for these rules."""
    vectors = Golden(golden(metafunc.config) / "pyneuralogic")
    for kind in {"attention", "edges", "types", "heads"} & set(metafunc.fixturenames):
        metafunc.parametrize(kind, [name for name, case in vectors.cases.items() if kind_of(case) == kind])


@pytest.fixture(scope="module")
def vectors(pytestconfig: pytest.Config) -> Golden:
    return Golden(golden(pytestconfig) / "pyneuralogic")


def facts_of(vectors: dict[str, Tensor], size: int, **relations: Relation) -> Facts:
    nodes = {name: Relation.of_vectors(rows) for name, rows in vectors.items()}
    return Facts({**nodes, "dk": Relation.nullary(size**-0.5, torch.float64), **relations})


def assert_attention(outcome: Any, tensors: dict[str, Tensor]) -> None:
    """Every query that the reference answers has its values, and the others have none."""
    output, has_result = outcome.dense("att", len(tensors["output"]))
    assert has_result.equal(tensors["has_result"].bool())
    torch.testing.assert_close(output, tensors["output"], **DOUBLE)


def test_every_golden_case_is_compared(vectors: Golden) -> None:
    assert {path.stem for path in vectors.folder.glob("*.safetensors")} == set(vectors.cases)


def test_attention_is_the_references(vectors: Golden, attention: str) -> None:
    config, tensors = vectors.case(attention)
    visible = Relation(tensors["visible"].nonzero())
    facts = facts_of({part: tensors[part] for part in "qkv"}, config["d"], vis=visible)
    for constraint in constraints_of(attention, config):
        body = "" if constraint == "true" else f", {constraint}"
        outcome = RuleModel(ATTENTION.format(constraint=body), {}, arithmetic="closed")(facts)
        assert_attention(outcome, tensors)
        weights = outcome.relations["w"]
        dense = torch.zeros_like(tensors["attention_weights"])
        dense[weights.terms[:, 0], weights.terms[:, 1]] = weights.values.flatten()
        torch.testing.assert_close(dense, tensors["attention_weights"], **DOUBLE)


def test_a_compiled_mask_attends_as_the_reference(vectors: Golden, attention: str) -> None:
    config, tensors = vectors.case(attention)
    _, constraint = constraints_of(attention, config)
    facts = Facts({"vis": Relation(tensors["visible"].nonzero())})
    mask = compile_mask(f"attend(I,J) <= {constraint}", Shape.square(config["L"]), facts)
    assert mask.allowed.equal(tensors["visible"].bool())
    assert mask.empty_rows.flatten().tolist() == config["queries_without_result"]
    for dtype, tolerance in ((torch.float64, DOUBLE), (torch.float32, SINGLE)):
        query, key, value = (tensors[part].to(dtype) for part in "qkv")
        scale = config["d"] ** -0.5
        has_keys = mask.allowed.any(-1, keepdim=True)
        every_row = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask.allowed | ~has_keys, scale=scale
        )
        output = every_row.where(has_keys, 0)
        torch.testing.assert_close(output.double(), tensors["output"], **tolerance)
        assert int(has_keys.sum()) == config["results_returned"]


def test_relational_attention_is_the_references(vectors: Golden, edges: str) -> None:
    config, tensors = vectors.case(edges)
    features = Relation(tensors["edge_index"], tensors["edge_features"][..., None])
    facts = facts_of({"n": tensors["node_features"]}, config["d"], e=features)
    weights = {key: value for key, value in tensors.items() if key.startswith("W")}
    outcome = RuleModel(RELATIONAL, weights)(facts)
    assert_attention(outcome, tensors)
    actual = dict(
        zip(map(tuple, outcome.relations["w"].terms.tolist()), outcome.relations["w"].values, strict=True)
    )
    of_edges = torch.stack([actual[tuple(edge)].flatten()[0] for edge in tensors["edge_index"].tolist()])
    torch.testing.assert_close(of_edges.detach(), tensors["edge_attention_weights"], **DOUBLE)


def test_relation_types_are_the_references(vectors: Golden, types: str) -> None:
    config, tensors = vectors.case(types)
    edges = tensors["edges_i_j_type"]
    by_type = {
        name: Relation(edges[edges[:, 2] == number, :2])
        for number, name in enumerate(config["relation_types"])
    }
    facts = facts_of({"n": tensors["node_features"]}, config["d"], **by_type)
    weights = {key: value for key, value in tensors.items() if key.startswith("W")}
    rules = "".join(RELATION_TYPE.format(type=name) for name in config["relation_types"])
    assert_attention(RuleModel(RELATION_TYPES.format(types=rules), weights)(facts), tensors)


def test_several_heads_are_the_references(vectors: Golden, heads: str) -> None:
    config, tensors = vectors.case(heads)
    numbers = torch.arange(config["num_heads"])[:, None]
    projections = {
        f"w{part}": Relation(numbers, tensors[f"out_{part}w"].unflatten(0, (config["num_heads"], -1)))
        for part in "qkv"
    }
    visible = Relation(tensors["visible"].nonzero())
    facts = facts_of({"x": tensors["x"]}, config["head_dim"], vis=visible, **projections)
    assert_attention(RuleModel(MULTIHEAD, {"Wo": tensors["out_projection"]})(facts), tensors)
