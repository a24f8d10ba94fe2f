"""The solved row lets the edited fact lead, keeps the leads of the others, and moves no further than it has to."""

import numpy as np
import pytest

from models.thu_ernie.entities.solve import FactRow, solve_row

SIZE, MARGIN = 24, 3.0


def world(seed: int, n_facts: int) -> tuple[np.ndarray, list[FactRow], np.ndarray]:
    rng = np.random.default_rng(seed)
    row = rng.normal(size=SIZE)
    facts = [
        FactRow(step := 2 * rng.normal(size=SIZE), row + step + 0.3 * rng.normal(size=SIZE), False)
        for _ in range(n_facts)
    ]
    facts[0] = FactRow(facts[0].step, 4 * rng.normal(size=SIZE), True)
    return row, facts, rng.normal(size=(5, SIZE))


def lead(row: np.ndarray, fact: FactRow, rival: np.ndarray) -> float:
    return float((row + fact.step) @ (fact.object - rival))


@pytest.mark.parametrize("n_facts", [1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_leads_are_as_large_as_they_have_to_be(seed: int, n_facts: int) -> None:
    row, facts, rivals = world(seed, n_facts)
    solution = solve_row(row, facts, rivals, MARGIN)
    for rival in [*rivals, *(fact.object for fact in facts[1:])]:
        assert lead(solution, facts[0], rival) >= MARGIN * 0.99
    for fact in facts[1:]:
        for other in facts:
            if other is not fact:
                demand = MARGIN if other.is_new else min(MARGIN, lead(row, fact, other.object))
                assert lead(solution, fact, other.object) >= demand - 0.05


def test_a_row_that_leads_already_stays() -> None:
    row, facts, rivals = world(1, 3)
    solution = solve_row(row, facts, rivals, MARGIN)
    np.testing.assert_allclose(solve_row(solution, facts, rivals, MARGIN * 0.9), solution, atol=1e-9)
    assert solve_row(row, facts[:0], rivals, MARGIN) is row


def test_no_nearer_row_fulfils_a_single_demand() -> None:
    """With one lead the nearest row lies along it; its distance is the missing lead divided by the length."""
    row, [fact], rivals = world(1, 1)
    rivals = rivals[[int(np.argmin([lead(row, fact, rival) for rival in rivals]))]]
    solution = solve_row(row, [fact], rivals, MARGIN)
    direction = fact.object - rivals[0]
    short = max(0.0, MARGIN - lead(row, fact, rivals[0]))
    assert np.linalg.norm(solution - row) == pytest.approx(short / np.linalg.norm(direction), rel=0.03)
    assert short > 0
