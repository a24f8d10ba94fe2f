"""The visible matrix on the paper's small cases, and what holds of every tree."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from models.kbert.row import visible


def rows(branch: list[int], anchor: list[int]) -> list[str]:
    matrix = visible(torch.tensor(branch), torch.tensor(anchor))
    return ["".join("1" if may_attend else "." for may_attend in row) for row in matrix.tolist()]


def test_a_fact_sees_its_word_and_itself() -> None:
    """苹果好 with 属于水果 on 苹果."""
    assert rows([0, 0, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 1]) == [
        "1111111",
        "1111111",
        "111111.",
        "111111.",
        "111111.",
        "111111.",
        "11....1",
    ]


def test_two_facts_of_one_word_do_not_see_each_other() -> None:
    assert rows([0, 1, 2], [0, 0, 0]) == ["111", "11.", "1.1"]


def test_a_fact_does_not_see_another_place_of_its_word() -> None:
    assert rows([0, 1, 0, 2], [0, 0, 1, 1]) == ["111.", "11..", "1.11", "..11"]


def test_a_batch_is_its_rows() -> None:
    branch, anchor = torch.tensor([[0, 1, 0], [0, 0, 1]]), torch.tensor([[0, 0, 1], [0, 1, 1]])
    together = visible(branch, anchor)
    for row in range(2):
        assert together[row].equal(visible(branch[row], anchor[row]))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_every_tree_is_symmetric_and_every_token_sees_itself_and_its_word(facts: list[int]) -> None:
    branch, anchor, count = [], [], 0
    for word, hung in enumerate(facts):
        branch += [0, *range(count + 1, count + 1 + hung)]
        anchor += [word] * (1 + hung)
        count += hung
    branches, anchors = torch.tensor(branch), torch.tensor(anchor)
    matrix = visible(branches, anchors)
    assert matrix.equal(matrix.T)
    assert matrix.diagonal().all()
    assert matrix[branches == 0][:, branches == 0].all()
    is_injected = branches > 0
    assert matrix[is_injected].sum(1).eq(2).all(), "a fact of one token sees itself and its word of one token"
