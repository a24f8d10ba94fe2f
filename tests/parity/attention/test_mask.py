"""Rules become masks: each form of a mask says the same, and empty or forbidden ones are reported."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.rules.ground import TooManyBindings
from models.rules.syntax import RuleError
from tests.parity.attention.facts import Facts, Relation
from tests.parity.attention.mask import Mask, Shape, compile_mask

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


def test_heads_have_rules_of_their_own() -> None:
    rules = "attend(H,I,J) <= eq(H,0), causal\nattend(2,I,J) <= eq(I,J)\nattend(H,I,J) <= eq(H,1)"
    mask = compile_mask(rules, Shape.square(4, heads=3))
    assert mask.allowed[0].equal(torch.ones(4, 4).tril() > 0)
    assert mask.allowed[1].all()
    assert mask.allowed[2].equal(torch.eye(4) > 0)
    assert mask.source[1, 0, 1] == 2


def test_a_query_without_keys_is_named() -> None:
    assert compile_square("attend(I,J) <= lt(J,I)").empty_rows.tolist() == [[0]]


def test_the_closed_world_computes_only_numbers_that_occur() -> None:
    """PyNeuraLogic's window needs no geq, for no fact is negative; integers do."""
    rules = "attend(I,J) <= leq(D,2), sub(I,J,D)"
    closed = compile_mask(rules, Shape.square(LENGTH), arithmetic="closed")
    assert closed.allowed.equal(compile_square("attend(I,J) <= window(2)").allowed)
    assert compile_square(rules).allowed.equal(pairs_of(lambda i, j: i - j <= 2))


def test_the_remainder_has_javas_sign_only_in_the_closed_world() -> None:
    rules, facts = (
        "attend(I,J) <= sub(I,J,D), mod(D,3,-1)",
        Facts({"n": Relation(torch.arange(-6, 0)[:, None])}),
    )
    closed = compile_mask(rules, Shape.square(LENGTH), facts, "closed")
    assert closed.allowed.equal(pairs_of(lambda i, j: i - j in (-1, -4)))
    with pytest.raises(RuleError, match="allow no pair"):
        compile_mask(rules, Shape.square(LENGTH), facts)


def test_rules_that_allow_nothing_are_refused() -> None:
    with pytest.raises(RuleError, match="line 2, column 1: the rules allow no pair at all"):
        compile_square("\nattend(I,J) <= lt(I,J), lt(J,I)")


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_a_mask_of_nothing_is_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="a mask needs a query, a key and a head"):
        Shape(*shape)


def test_too_many_pairs_are_refused_before_they_are_made() -> None:
    with pytest.raises(TooManyBindings, match="100,000,000 pairs, more than 4,000,000"):
        compile_square("attend(I,J) <= causal", length=10_000)
    facts = Facts({"a": Relation(torch.arange(300)[:, None])})
    with pytest.raises(TooManyBindings, match="line 1 leads to"):
        compile_square("attend(I,J) <= a(K), a(L), leq(K,L)", facts, length=9)


def test_facts_about_other_tokens_are_refused_or_dropped_and_counted() -> None:
    facts = Facts({"vis": Relation(torch.tensor([[0, 1], [6, 0], [2, -1]]))})
    with pytest.raises(ValueError, match="a fact of vis names"):
        compile_square("attend(I,J) <= seen(I,J)\nseen(A,B) <= hidden.vis(A,B)", facts)
    mask = compile_mask("attend(I,J) <= hidden.vis(I,J)", Shape.square(LENGTH), facts, strict=False)
    assert mask.n_dropped == 2
    assert mask.allowed.nonzero().tolist() == [[0, 1]]


def test_a_mask_is_made_where_it_is_used(device: torch.device) -> None:
    facts = Facts({"vis": Relation(torch.tensor([[0, 1], [3, 2]]))})
    mask = compile_mask(
        "attend(I,J) <= hidden.vis(I,J)\nattend(I,J) <= window(1)", Shape.square(4), facts, device=device
    )
    assert mask.allowed.device.type == device.type
    assert mask.source[0, 1] == 0


pairs = st.tuples(st.integers(0, 4), st.integers(0, 4))


@given(st.sets(pairs, min_size=1), st.sets(pairs, min_size=1))
def test_joins_are_those_of_logic(first: set[tuple[int, int]], second: set[tuple[int, int]]) -> None:
    facts = Facts({"e": Relation(torch.tensor(sorted(first))), "f": Relation(torch.tensor(sorted(second)))})
    expected = {(i, j) for i, k in first for a, j in second if a == k} | {(i, j) for j, i in first if i == j}
    rules = "attend(I,J) <= e(I,K), f(K,J)\nattend(I,I) <= e(I,I)\nattend(I,J) <= e(J,I), eq(I,J)"
    if expected:
        assert set(map(tuple, compile_square(rules, facts, 5).allowed.nonzero().tolist())) == expected
    else:
        with pytest.raises(RuleError, match="allow no pair"):
            compile_square(rules, facts, 5)
