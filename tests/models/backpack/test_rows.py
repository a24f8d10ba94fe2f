"""Rows of a fact: exact on the linear output, of minimum norm, for answers of any length, and nothing else moves.

Projection, factors and their overlay.
The smallest push is the textbook's where that can be written down, and suffices wherever a push exists.
"""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.backpack.editing.overlay import SenseOverlay, project
from models.backpack.editing.push import find_push
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
from tests.hypotheses import examples
from tests.models.backpack.conftest import CONFIG

tokens = st.integers(5, 36)
bodies = st.lists(st.lists(tokens, min_size=1, max_size=9), min_size=1, max_size=3)


@pytest.fixture(scope="module")
def prompts() -> list[list[int]]:
    return [[1, 7, 3, 9, 2], [1, 9, 4, 2], [1, 3, 3, 8, 5, 2]]


def least_lead(model: Backpack, prompt: list[int], answer: list[int], edits: TextEdits) -> float:
    return float(read_forced(model, prompt, answer, edits).leads(answer).min())


@examples(25)
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


A, H = torch.tensor([1.0, 0.0]), torch.tensor([1.0, 1.0])
SENSES = torch.tensor([[2.0, 1.0]])
IDS = torch.tensor([[5, 9, 30, 5]])
UNIT = torch.ones(CONFIG.senses)


def test_the_worked_example_of_a_projection() -> None:
    assert project(SENSES, A, H).tolist() == [[1.0, 2.0]]


def test_an_orthogonal_projection_leaves_nothing_of_the_word() -> None:
    assert (project(SENSES, A, H, orthogonal=True) @ A).tolist() == [0.0]


def test_half_the_strength_goes_half_the_way() -> None:
    assert project(SENSES, A, H, strength=0.5).tolist() == [[1.5, 1.5]]
    assert torch.equal(project(SENSES, A, H, strength=0.0), SENSES)


@pytest.mark.parametrize(("away", "towards"), [(torch.zeros(2), H), (A, torch.zeros(2))])
def test_a_direction_without_length_is_refused(away: torch.Tensor, towards: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="length zero"):
        project(SENSES, away, towards)


def test_an_overlay_of_unchanged_senses_changes_no_bit(backpack: Backpack) -> None:
    base = backpack.senses_of(IDS)[0]
    overlay = SenseOverlay.of({token: (base[place], UNIT) for place, token in ((0, 5), (2, 30))})
    assert torch.equal(backpack(IDS, edits=overlay).logits, backpack(IDS).logits)


def test_a_factor_of_zero_takes_a_sense_out_of_the_sum(backpack: Backpack) -> None:
    factors = torch.ones(CONFIG.senses)
    factors[1] = 0
    overlay = SenseOverlay.of({30: (backpack.senses_of(torch.tensor(30)), factors)})
    before, after = backpack(IDS), backpack(IDS, edits=overlay)
    share = before.alpha[0, 1, :, 2, None] * before.senses[0, 2, 1]
    torch.testing.assert_close(after.output[0], before.output[0] - share, atol=1e-5, rtol=0)
    assert torch.equal(after.alpha, before.alpha)


def needs_of(embedding: torch.Tensor, target: int, output: torch.Tensor, margin: float) -> torch.Tensor:
    logits = embedding @ output
    needs = margin - (logits[target] - logits)
    needs[target] = -float("inf")
    return needs


def test_one_rival_is_left_behind_along_the_difference() -> None:
    embedding = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    push = find_push(embedding, 0, torch.tensor([-float("inf"), 2.0], dtype=torch.float64))
    assert push is not None
    torch.testing.assert_close(push, torch.tensor([1.0, -1.0], dtype=torch.float64))


def test_a_word_that_leads_by_enough_needs_no_push() -> None:
    embedding = torch.eye(3, dtype=torch.float64)
    push = find_push(embedding, 1, torch.tensor([-0.5, -float("inf"), 0.0], dtype=torch.float64))
    assert push is not None
    assert not push.any()


def test_a_word_between_all_others_cannot_lead() -> None:
    embedding = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    assert find_push(embedding, 2, torch.tensor([1.0, 1.0, -float("inf")], dtype=torch.float64)) is None


def test_a_word_with_a_twin_cannot_lead_it() -> None:
    embedding = torch.tensor([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]], dtype=torch.float64)
    assert find_push(embedding, 0, torch.tensor([-float("inf"), 1.0, 1.0], dtype=torch.float64)) is None


@given(st.integers(0, 10_000), st.floats(0.1, 8))
def test_the_push_suffices_and_no_shorter_one_of_many_does(seed: int, margin: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    embedding = torch.randn(30, 16, generator=generator, dtype=torch.float64)
    output = torch.randn(16, generator=generator, dtype=torch.float64)
    target = int(torch.randint(30, (), generator=generator))
    needs = needs_of(embedding, target, output, margin)
    push = find_push(embedding, target, needs)
    if push is None:
        return
    missing = needs - (embedding[target] @ push - embedding @ push)
    assert float(missing.max()) <= 1e-6
    for _ in range(
        20
    ):  # the feasible set is convex, so a shorter push would lie in the direction of a nearby one
        other = push + 0.05 * push.norm() * torch.randn(16, generator=generator, dtype=torch.float64)
        is_enough = float((needs - (embedding[target] @ other - embedding @ other)).max()) <= 0
        assert not is_enough or float(other.norm()) >= float(push.norm()) - 1e-5
