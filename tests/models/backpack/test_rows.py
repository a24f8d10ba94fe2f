"""Rows of a fact: exact on the linear output, of minimum norm, for answers of any length, and nothing else moves."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.backpack.editing.rows import (
    ENOUGH,
    MARGIN,
    FactRows,
    TextEdits,
    Unreachable,
    complete_rows,
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


def test_weights_never_change(backpack: Backpack, prompts: list[list[int]]) -> None:
    rows = solve(backpack, prompts, [11, 0]).rows
    ids = torch.tensor([prompts[0]])
    with_rows, base = backpack(ids, None, TextEdits(rows=rows)), backpack(ids)
    assert torch.equal(with_rows.alpha, base.alpha)
    assert torch.equal(with_rows.context, base.context)


def test_no_smaller_rows_give_the_same_push(backpack: Backpack, prompts: list[list[int]]) -> None:
    """A change of rows that no step sees only makes them longer: minimum-norm rows are orthogonal to all of these."""
    answer = [11, 12, 0]
    solution = solve(backpack, prompts, answer)
    readings = [read_forced(backpack, prompt, answer) for prompt in prompts]
    columns = []
    for reading in readings:
        for step in range(len(answer)):
            weights = torch.zeros(len(solution.tokens), 4, dtype=torch.float64)
            for place, token in enumerate(reading.ids.tolist()):
                row = int((solution.tokens == token).nonzero())
                weights[row] += reading.alpha[:, step, place].double()
            columns.append(weights.flatten())
    constraints = torch.stack(columns)
    flat = solution.weights.double().flatten(0, 1)
    projection = torch.linalg.pinv(constraints) @ (constraints @ flat)
    torch.testing.assert_close(projection, flat, atol=1e-5, rtol=1e-4)


def test_a_wording_that_nobody_gave_gets_what_it_lacks(backpack: Backpack, prompts: list[list[int]]) -> None:
    answer, other = [11, 12, 0], [1, 20, 21, 22, 2]
    rows = solve(backpack, prompts, answer).rows
    whole = complete_rows(backpack, other, answer, rows, None)
    assert least_lead(backpack, other, answer, TextEdits(rows=whole)) >= ENOUGH
    assert complete_rows(backpack, prompts[0], answer, rows, None) is rows


def test_rows_add_up_token_by_token() -> None:
    first = FactRows(torch.tensor([2, 5]), torch.ones(2, 1, 3))
    second = FactRows(torch.tensor([5, 9]), 2 * torch.ones(2, 1, 3))
    total = first.add(second)
    assert total.tokens.tolist() == [2, 5, 9]
    assert total.values[:, 0, 0].tolist() == [1, 3, 2]
    assert total.look_up(torch.tensor([9, 4, 5]))[:, 0, 0].tolist() == [2, 0, 3]


def test_rows_are_the_same_bits_each_time(backpack: Backpack, prompts: list[list[int]]) -> None:
    first, second = (solve(backpack, prompts, [11, 0]) for _ in range(2))
    assert torch.equal(first.weights, second.weights)
    assert torch.equal(first.pushes, second.pushes)
