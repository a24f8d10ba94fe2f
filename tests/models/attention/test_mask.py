"""Rules become masks: each form of a mask says the same, and empty or forbidden ones are reported."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.attention.mask import UER_BIAS, Mask, compile_mask
from models.attention.pairs import Shape
from models.attention.rules.facts import Facts, Relation
from models.attention.rules.syntax import RuleError

LENGTH = 6


def compile_square(rules: str, facts: Facts | None = None, length: int = LENGTH) -> Mask:
    return compile_mask(rules, Shape.square(length), facts or Facts())


def pairs_of(is_allowed: Callable[[int, int], bool], length: int = LENGTH) -> torch.Tensor:
    return torch.tensor([[is_allowed(i, j) for j in range(length)] for i in range(length)])


@pytest.mark.parametrize(
    ("body", "is_allowed"),
    [
        ("true", lambda i, j: True),
        ("leq(J,I)", lambda i, j: j <= i),
        ("next(J,I)", lambda i, j: j + 1 == i),
        ("sub(I,J,D), geq(D,0), mod(D,2,0)", lambda i, j: j <= i and (i - j) % 2 == 0),
        ("mod(D,3,1), sub(I,J,D)", lambda i, j: (i - j) % 3 == 1),
        ("add(I,J,S), in(S,3,5)", lambda i, j: i + j in (3, 5)),
        ("neq(I,J), alldiff(I,J,2)", lambda i, j: i != j and 2 not in (i, j)),
        ("maxcard(2,I,J,4)", lambda i, j: len({i, j, 4}) <= 2),
        ("add(J,K,I), gt(K,1), lt(K,4)", lambda i, j: 1 < i - j < 4),
        ("eq(I,2), geq(J,1)", lambda i, j: i == 2 and j >= 1),
    ],
)
def test_special_relations_are_arithmetic(body: str, is_allowed: Callable[[int, int], bool]) -> None:
    assert compile_square(f"attend(I,J) <= {body}").allowed.equal(pairs_of(is_allowed))


def test_several_rules_allow_what_any_of_them_allows_and_the_first_is_named() -> None:
    mask = compile_square("attend(I,J) <= eq(J,0)\nattend(I,J) <= eq(I,J)")
    assert mask.allowed.equal(pairs_of(lambda i, j: j == 0 or i == j))
    assert mask.source.equal(
        torch.where(pairs_of(lambda i, j: j == 0), 0, torch.where(torch.eye(6) > 0, 1, -1))
    )


def test_a_relation_with_rules_may_bind_variables_of_its_caller() -> None:
    edges = Facts({"e": Relation(torch.tensor([[0, 1], [1, 2], [2, 5], [1, 5]]))})
    mask = compile_square(
        "attend(I,J) <= two(I,K), two(K,J)\ntwo(I,J) <= e(I,J)\ntwo(I,J) <= eq(I,J), e(I,K)", edges
    )
    step = torch.zeros(6, 6)
    step[[0, 1, 2, 1, 0, 1, 2], [1, 2, 5, 5, 0, 1, 2]] = 1
    assert mask.allowed.equal(step @ step > 0)


def test_symbols_of_facts_are_joined() -> None:
    rows = [
        ("kind", (place, kind), ())
        for place, kind in enumerate(["noun", "verb", "noun", "noun", "verb", "x"])
    ]
    facts = Facts.of_rows(rows)
    assert compile_square("attend(I,J) <= kind(I,K), kind(J,K)", facts).allowed.equal(
        pairs_of(lambda i, j: rows[i][1][1] == rows[j][1][1])
    )
    assert compile_square("attend(I,J) <= kind(I,verb), kind(J,K), neq(K,verb)", facts).allowed.equal(
        pairs_of(lambda i, j: i in (1, 4) and j not in (1, 4))
    )


def test_the_forms_of_a_mask_agree() -> None:
    mask = compile_square("attend(I,J) <= lt(J,I)")
    assert mask.additive("inf").eq(0).equal(mask.allowed)
    assert mask.additive("inf")[~mask.allowed].eq(-torch.inf).all()
    assert mask.additive("uer", torch.float64)[~mask.allowed].eq(UER_BIAS).all()
    dense = torch.zeros(LENGTH, LENGTH, dtype=torch.bool)
    dense[mask.pairs[:, 0], mask.pairs[:, 1]] = True
    assert dense.equal(mask.allowed)
    assert mask.density == pytest.approx(15 / 36)
    assert mask.empty_rows.tolist() == [[0]]


def test_rules_that_allow_nothing_are_refused_with_the_constraint() -> None:
    with pytest.raises(
        RuleError, match=r"line 2, column 1: the rules allow no pair at all: line 2: lt\(J, I\) fails"
    ):
        compile_square("\nattend(I,J) <= lt(I,J), lt(J,I)")


pairs = st.tuples(st.integers(0, 4), st.integers(0, 4))


@given(st.sets(pairs, min_size=1), st.sets(pairs, min_size=1))
def test_joins_are_those_of_logic(first: set[tuple[int, int]], second: set[tuple[int, int]]) -> None:
    facts = Facts({"e": Relation(torch.tensor(sorted(first))), "f": Relation(torch.tensor(sorted(second)))})
    expected = {(i, j) for i, k in first for a, j in second if a == k} | {(i, j) for j, i in first if i == j}
    rules = "attend(I,J) <= e(I,K), f(K,J)\nattend(I,I) <= e(I,I)\nattend(I,J) <= e(J,I), eq(I,J)"
    if expected:
        assert set(map(tuple, compile_square(rules, facts, 5).pairs.tolist())) == expected
    else:
        with pytest.raises(RuleError, match="allow no pair"):
            compile_square(rules, facts, 5)
