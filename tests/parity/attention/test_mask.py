"""The masks of the models as rules: each equals the mask that its model writes by hand."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from models.kbert.row import visible
from tests.parity.attention.facts import Facts, Relation
from tests.parity.attention.mask import Shape, compile_mask

LENGTH = 9


def test_the_causal_mask_of_a_backpack_is_a_rule() -> None:
    """GPT-2's mask, by which the weights of the senses are masked too."""
    expected = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    assert compile_mask("attend(I,J) <= causal", Shape.square(LENGTH)).allowed.equal(expected)


@given(st.lists(st.booleans(), min_size=1, max_size=8).filter(any), st.integers(1, 5))
def test_the_mask_of_an_ernie_doc_segment_is_a_rule(is_real: list[bool], memory: int) -> None:
    """data = [ones(M); mask], and a pair is allowed where mask_i data_j = 1."""
    real = torch.tensor(is_real)
    data = torch.cat([torch.ones(memory, dtype=torch.bool), real])
    facts = Facts({"real": Relation(real.nonzero())})
    shape = Shape(queries=len(real), keys=memory + len(real))
    mask = compile_mask(f"attend(I,J) <= segment_memory({memory})", shape, facts)
    assert mask.allowed.equal(real[:, None] & data[None])
    assert mask.empty_rows.flatten().tolist() == (~real).nonzero().flatten().tolist()


@given(st.lists(st.lists(st.integers(1, 3), max_size=3), min_size=1, max_size=5), st.integers(0, 2))
def test_the_visible_matrix_of_every_tree_is_a_rule(facts_by_word: list[list[int]], padding: int) -> None:
    """Words with facts of one to three tokens, and padding that sees itself alone, as kbert lays them out."""
    branch, anchor, count = list[int](), list[int](), 0
    for word, lengths in enumerate(facts_by_word):
        branch, anchor = [*branch, 0], [*anchor, word]
        for length in lengths:
            count += 1
            branch, anchor = branch + [count] * length, anchor + [word] * length
    branch += [count + 1 + place for place in range(padding)]
    anchor += [len(facts_by_word) + place for place in range(padding)]
    expected = visible(torch.tensor(branch), torch.tensor(anchor))
    facts = Facts(
        {
            name: Relation(torch.tensor(list(enumerate(numbers))))
            for name, numbers in (("branch", branch), ("anchor", anchor))
        }
    )
    mask = compile_mask("attend(I,J) <= branch_visible", Shape.square(len(branch)), facts)
    assert mask.allowed.equal(expected)
