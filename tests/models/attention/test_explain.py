"""An explanation names the rule that allows a pair, or the constraint that forbids it."""

import pytest
import torch

from models.attention.mask import compile_mask
from models.attention.pairs import Shape
from models.attention.rules.facts import Facts, Relation

FACTS = Facts({"e": Relation(torch.tensor([[0, 3], [1, 3]]))})
MASK = compile_mask(
    "attend(I,J) <= hidden.e(I,J), lt(J,I)\nattend(I,J) <= window(2)\nattend(0,J) <= eq(J,5)",
    Shape.square(6),
    FACTS,
)


@pytest.mark.parametrize(
    ("query", "key", "text"),
    [
        (3, 2, "allowed by line 2: attend(I, J) <= window(I, J, 2)"),
        (0, 5, "allowed by line 3: attend(0, J) <= eq(J, 5)"),
        (
            *(0, 3),
            "forbidden by line 1: lt(J, I) fails with J = 3 and I = 0; "
            "line 2: window(I, J, 2) fails with I = 0 and J = 3 (geq(D, 0) fails with D = -3); "
            "line 3: eq(J, 5) fails with J = 3",
        ),
        (
            *(5, 1),
            "forbidden by line 1: e(I, J) fails with I = 5 and J = 1; "
            "line 2: window(I, J, 2) fails with I = 5 and J = 1 (leq(D, 2) fails with D = 4); "
            "line 3: attend(0, J) is a different pair",
        ),
    ],
)
def test_a_pair_is_explained(query: int, key: int, text: str) -> None:
    explanation = MASK.explain(query, key)
    assert str(explanation) == text
    assert explanation.is_allowed == bool(MASK.allowed[query, key])


def test_every_pair_is_explained_by_the_rule_that_the_mask_names() -> None:
    for query in range(6):
        for key in range(6):
            explanation, source = MASK.explain(query, key), int(MASK.source[query, key])
            assert explanation.rule == (MASK.rules[source] if source >= 0 else None)


@pytest.mark.parametrize(("query", "key"), [(6, 0), (0, -1)])
def test_a_pair_that_does_not_exist_is_refused(query: int, key: int) -> None:
    with pytest.raises(ValueError, match=r"does not exist; there are 0 to 5"):
        MASK.explain(query, key)
