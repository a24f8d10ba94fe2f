"""Programs that cannot mean anything are refused when they are compiled, at the place in their text."""

import pytest
import torch

from models.rules.syntax import RuleError
from tests.parity.attention.facts import Facts, Relation
from tests.parity.attention.mask import compile_mask
from tests.parity.attention.pairs import Shape

FACTS = Facts(
    {"e": Relation(torch.tensor([[0, 1], [1, 2]])), "s": Relation(torch.tensor([[0, (1 << 40)]]))}, ("red",)
)


@pytest.mark.parametrize(
    ("rules", "line", "column", "message"),
    [
        ("attend(I,J) <= eg(I,J)", 1, 16, "unknown relation eg: .*; there are attend, e, s"),
        ("attend(I,J) <= e(I,J,J)", 1, 16, "e takes 2 terms, not 3"),
        ("attend(I,J) <= leq(I)", 1, 16, "leq takes 2 terms, not 1"),
        ("attend(I,J) <= in(I)", 1, 16, "in takes 2 terms or more, not 1"),
        ("attend(I,J) <= true\nattend(H,I,J) <= true", 2, 1, "attend has 2 terms elsewhere and 3 here"),
        ("attend(I,J) <= leq(J,K)", 1, 22, r"unbound variable K in leq\(J, K\)"),
        ("attend(I,J) <= near(I,K), leq(K,J)\nnear(I,J) <= lt(I,J)", 2, 19, "unbound variable J"),
        ("attend(I,J) <= near(K,I)\nnear(I,J) <= e(J,K)", 2, 6, r"unbound variable I in near\(I, J\)"),
        (
            "attend(I,J) <= near(I,J)\nnear(I,J) <= attend(J,I)",
            2,
            14,
            "attend <= near <= attend; break the cycle",
        ),
        (
            "attend(I,J) <= w(I,J)\nw(I,J) <= e(I,J), w(J,I) | product, softmax[J]",
            *(2, 19, "w depends on itself through a softmax: w <= w"),
        ),
        ("attend(I,J) <= e(I,J) | softmax[K]", 1, 33, r"softmax over K, which the head attend\(I, J\) lacks"),
        ("attend(I,J) <= leq(I,paris)", 1, 22, "leq compares numbers, and paris is none"),
        ("attend(I,J) <= s(I,C), lt(C,J)", 1, 24, "compares numbers, and one of its terms is a symbol"),
        ("attend(I,J) <= mod(I,0,J)", 1, 22, "the divisor of mod has to be a positive whole number, not 0"),
        ("attend(I,J) <= mod(I,J,0)", 1, 22, "the divisor of mod has to be a positive whole number, not J"),
        ("attend(I,J) <= window(0)", 1, 23, "the number of window has to be positive, 0 is not"),
        ("attend(I,J) <= window(-2)", 1, 23, "the number of window has to be positive"),
        ("attend(I,J) <= window(J)", 1, 23, "window takes a whole number, not J"),
        ("attend(I,J) <= stride", 1, 16, "stride takes 1 terms, or 3 with query and key, not 0"),
        ("attend(I,J) <= a(I)\na(I) <= causal", 2, 9, "causal needs a head with a query and a key"),
        ("window(I,J) <= e(I,J)", 1, 1, "window is a macro; name the relation otherwise"),
        ("leq(I,J) <= e(I,J)", 1, 1, "leq is a special relation"),
        ("near(I,J) <= e(I,J)", 1, 1, "no rule has the head attend"),
        ("attend(H,I,J) <= causal", 1, 1, r"write attend\(I,J\), not attend\(H, I, J\)"),
    ],
)
def test_an_error_names_the_place(rules: str, line: int, column: int, message: str) -> None:
    with pytest.raises(RuleError, match=message) as info:
        compile_mask(rules, Shape.square(4), FACTS)
    assert (info.value.line, info.value.column) == (line, column)


def test_what_is_legal_and_probably_not_intended_is_a_warning() -> None:
    rules = "attend(I,J) <= e(I,J), s(I,K) | softmax[J]\nattend(I,J) <= e(I,J) | softmax[J]"
    assert compile_mask(rules, Shape.square(4), FACTS).warnings == (
        "attend has several softmax rules: their weights are summed, and a row may exceed 1",
        "line 1: e(I, J) has no value and adds 1; write hidden.e(I, J) if it only constrains",
        "line 1: s(I, K) has no value and adds 1; write hidden.s(I, K) if it only constrains",
    )
