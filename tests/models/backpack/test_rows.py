"""Rows of a fact: exact on the linear output, of minimum norm, for answers of any length, and nothing else moves."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.backpack.editing.rows import (
    MARGIN,
    FactRows,
    TextEdits,
    Unreachable,
    read_forced,
    solve,
)
from models.backpack.network import Backpack

tokens = st.integers(5, 36)
bodies = st.lists(st.lists(tokens, min_size=1, max_size=9), min_size=1, max_size=3)


@pytest.fixture(scope="module")
def prompts() -> list[list[int]]:
    return [[1, 7, 3, 9, 2], [1, 9, 4, 2], [1, 3, 3, 8, 5, 2]]


def least_lead(model: Backpack, prompt: list[int], answer: list[int], edits: TextEdits) -> float:
    return float(read_forced(model, prompt, answer, edits).leads(answer).min())


@settings(max_examples=25)
@given(bodies=bodies, answer=st.lists(tokens, min_size=1, max_size=5))
def test_the_answer_leads_at_each_step_of_each_wording(
    backpack: Backpack, bodies: list[list[int]], answer: list[int]
) -> None:
    prompts = [[1, 2, *body, 3, 4, 2] for body in bodies]
    answer = [*answer, 3]
    try:
        solution = solve(backpack, prompts, answer)
    except Unreachable:
        return
    for prompt in prompts:
        assert least_lead(backpack, prompt, answer, TextEdits(rows=solution.rows)) > 0.9 * MARGIN


def test_the_push_of_a_step_is_the_same_in_all_wordings(backpack: Backpack, prompts: list[list[int]]) -> None:
    answer = [11, 12, 0]
    solution = solve(backpack, prompts, answer)
    edits = TextEdits(rows=solution.rows)
    for prompt in prompts:
        ids = torch.tensor([[*prompt, *answer[:-1]]])
        first = len(prompt) - 1
        change = backpack(ids, None, edits).output[0, first:] - backpack(ids).output[0, first:]
        torch.testing.assert_close(change, solution.pushes, atol=1e-4, rtol=1e-4)


def test_rows_add_up_token_by_token() -> None:
    first = FactRows(torch.tensor([2, 5]), torch.ones(2, 1, 3))
    second = FactRows(torch.tensor([5, 9]), 2 * torch.ones(2, 1, 3))
    total = first.add(second)
    assert total.tokens.tolist() == [2, 5, 9]
    assert total.values[:, 0, 0].tolist() == [1, 3, 2]
    assert total.look_up(torch.tensor([9, 4, 5]))[:, 0, 0].tolist() == [2, 0, 3]
