"""Facts are read and joined; what contradicts itself is refused."""

import pytest
import torch

from models.rules.facts import SYMBOL
from tests.parity.attention.facts import Facts, Relation


def test_lines_are_facts_with_terms_and_a_value() -> None:
    facts = Facts.read("capital\tparis\tfrance\t\n# a remark\nweight\t0\t0.5\nvector\t1\t1 2 3\n")
    assert facts.symbols == ("france", "paris")
    assert facts.relations["capital"].terms.tolist() == [[SYMBOL + 1, SYMBOL]]
    assert facts.relations["capital"].values is None
    assert facts.relations["weight"].values is not None
    assert facts.relations["weight"].values.tolist() == [[[0.5]]]
    assert facts.arities == {"capital": 2, "weight": 1, "vector": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("near 0 1", "line 1: a fact needs its relation, its terms and its value, divided by tabs"),
        ("near\t0\t1\tclose", "line 1: the value 'close' is no number"),
        ("near\t0\t1\t\nnear\t0\t\n", "facts of near differ in the number of their terms"),
        ("near\t0\t1\t1 2\nnear\t0\t2\t1\n", "facts of near differ in the size of their values"),
        ("near\t0\tnan", "a value of near is not finite"),
        ("near\t0\t1\nnear\t0\t2", "a fact of near stands twice with different values"),
    ],
)
def test_facts_that_cannot_be_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Facts.read(text)


def test_a_fact_that_stands_twice_counts_once() -> None:
    facts = Facts({"near": Relation(torch.tensor([[2], [0], [2], [1], [0]]))})
    assert facts.relations["near"].terms.tolist() == [[2], [0], [1]]
