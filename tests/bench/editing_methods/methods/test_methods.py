"""What every editing method owes: the base when nothing is edited, exact undo, and its own closed form."""

from dataclasses import fields, replace

import pytest
import torch
from torch import Tensor

from tests.bench.editing_methods.methods.alphaedit import AlphaEdit, null_projection
from tests.bench.editing_methods.methods.codebook import Grace
from tests.bench.editing_methods.methods.decoder_slots import DecoderSlots
from tests.bench.editing_methods.methods.fine_tuning import FineTuning
from tests.bench.editing_methods.methods.least_squares import LeastSquares, holds
from tests.bench.editing_methods.methods.memit import Memit
from tests.bench.editing_methods.methods.method import NONE, Bank, Edit, Method, Rows, Values, fold
from tests.bench.editing_methods.methods.small import SLOTS, D, bank, edits
from tests.bench.editing_methods.methods.targets import ENOUGH, loss, targets
from tests.one_thread import one_thread as one_thread

MEMIT, PREVIOUS = Memit("memit", 0.5, remember=False), Memit("previous keys", 0.5, remember=True)
DENSE: list[Method] = [MEMIT, PREVIOUS, AlphaEdit(2.0, 1.0), LeastSquares(0.5), FineTuning(1e-2, 3)]
KEYED: list[Method] = [DecoderSlots(0.5, 0.2), Grace(1.0)]
ALL = [*DENSE, *KEYED]


@pytest.fixture(scope="module")
def base() -> Bank:
    return bank()


@pytest.fixture(scope="module")
def made(base: Bank) -> list[Edit]:
    return edits(9, base)


def values(method: Method, of: Bank, some: list[Edit], active: set[str] | None = None) -> Tensor:
    rows, _ = fold(method, of, some, {edit.id for edit in some} if active is None else active)
    assert isinstance(rows, Values)
    return rows.rows


def tensors(rows: Rows) -> list[Tensor]:
    parts = [getattr(rows, field.name) for field in fields(rows)]  # type: ignore[arg-type]
    return [
        one
        for part in parts
        for one in ([part] if isinstance(part, Tensor) else part)
        if isinstance(one, Tensor)
    ]


def rows_of(some: list[Edit]) -> tuple[Tensor, Tensor]:
    """All slot weights and targets, in double precision."""
    return torch.cat([edit.a for edit in some]).double(), torch.cat([edit.target for edit in some]).double()


@pytest.mark.parametrize("method", DENSE, ids=lambda one: one.name)
def test_without_edits_the_values_are_the_bases_bit_for_bit(method: Method, base: Bank) -> None:
    assert torch.equal(values(method, base, []), base.values)


@pytest.mark.parametrize("method", KEYED, ids=lambda one: one.name)
def test_without_edits_no_question_opens_an_entry(method: Method, base: Bank) -> None:
    rows, _ = fold(method, base, [], set())
    assert not isinstance(rows, Values)
    assert rows.opened(base.reference).eq(NONE).all()


@pytest.mark.parametrize("method", ALL, ids=lambda one: one.name)
def test_an_edit_taken_back_leaves_the_bits_of_never_having_made_it(
    method: Method, base: Bank, made: list[Edit]
) -> None:
    kept = [edit for edit in made if edit.id not in ("03", "04")]
    fold(method, base, made, {edit.id for edit in made})
    left, report = fold(method, base, made, {edit.id for edit in kept})
    never, _ = fold(method, base, kept, {edit.id for edit in kept})
    assert report.made == tuple(edit.id for edit in kept)
    assert all(torch.equal(one, other) for one, other in zip(tensors(left), tensors(never), strict=True))


@pytest.mark.parametrize("method", DENSE, ids=lambda one: one.name)
def test_an_edit_changes_the_values(method: Method, base: Bank, made: list[Edit]) -> None:
    assert not torch.equal(values(method, base, made[:1]), base.values)


def test_a_first_batch_is_memits_closed_form(base: Bank, made: list[Edit]) -> None:
    a, target = rows_of(made[2:3])
    naive = torch.linalg.solve(0.5 * base.covariance + a.T @ a, a.T @ target)
    torch.testing.assert_close(values(MEMIT, base, made[2:3]), (base.values + naive).float())


def test_memit_forgets_the_keys_of_earlier_edits(base: Bank, made: list[Edit]) -> None:
    offset = torch.zeros(SLOTS, D, dtype=torch.float64)
    for edit in made:
        a, target = rows_of([edit])
        offset += torch.linalg.solve(0.5 * base.covariance + a.T @ a, a.T @ (target - a @ offset))
    torch.testing.assert_close(values(MEMIT, base, made), (base.values + offset).float())


def test_previous_keys_reach_the_solution_over_all_edits_at_once(base: Bank, made: list[Edit]) -> None:
    a, target = rows_of(made)
    naive = torch.linalg.solve(0.5 * base.covariance + a.T @ a, a.T @ target)
    torch.testing.assert_close(values(PREVIOUS, base, made), (base.values + naive).float())


def test_alphaedit_is_its_authors_equation(base: Bank, made: list[Edit]) -> None:
    theta, ridge = float(torch.linalg.eigvalsh(base.covariance).median()), 0.7
    q, eye = null_projection(base, theta), torch.eye(SLOTS, dtype=torch.float64)
    offset, previous = torch.zeros(SLOTS, D, dtype=torch.float64), torch.zeros_like(q)
    for edit in made:
        a, target = rows_of([edit])
        offset += torch.linalg.solve(q @ (a.T @ a + previous) + ridge * eye, q @ a.T @ (target - a @ offset))
        previous += a.T @ a
    torch.testing.assert_close(values(AlphaEdit(theta, ridge), base, made), (base.values + offset).float())


def test_alphaedit_leaves_directions_of_preserved_keys_alone(base: Bank, made: list[Edit]) -> None:
    theta = float(torch.linalg.eigvalsh(base.covariance).median())
    moved = (values(AlphaEdit(theta, 0.7), base, made) - base.values).double()
    varied = torch.eye(SLOTS, dtype=torch.float64) - null_projection(base, theta)
    assert float((varied @ moved).norm()) < 1e-5 * float(moved.norm())


def test_alphaedit_without_a_null_space_refuses(base: Bank, made: list[Edit]) -> None:
    rows, report = fold(AlphaEdit(0.0, 1.0), base, made, {edit.id for edit in made})
    assert set(report.refused.values()) == {"no_reach"}
    assert len(report.refused) == len(made)
    assert isinstance(rows, Values)
    assert torch.equal(rows.rows, base.values)


@pytest.mark.parametrize("method", [MEMIT, PREVIOUS], ids=lambda one: one.name)
def test_an_edit_on_which_no_slot_fires_is_refused_and_the_others_are_made(
    method: Method, base: Bank, made: list[Edit]
) -> None:
    silent = replace(made[1], a=torch.zeros_like(made[1].a))
    _, report = fold(method, base, [made[0], silent, made[2]], {"00", "01", "02"})
    assert report.made == ("00", "02")
    assert report.refused == {"01": "no_reach"}


def test_least_squares_does_not_care_for_order(base: Bank, made: list[Edit]) -> None:
    method = LeastSquares(0.5)
    torch.testing.assert_close(
        values(method, base, made[::-1]), values(method, base, made), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("count", [8, 48], ids=["through rows", "through slots"])
def test_least_squares_is_one_solve_where_all_rows_hold(count: int, base: Bank) -> None:
    """Rows that lead by far already need no further target, whatever the values become."""
    base = replace(base, head=10 * torch.eye(D))
    some = [replace(edit, wanted=edit.wanted % D) for edit in edits(count, bank())]
    some = [replace(edit, x=1000 * base.head[edit.wanted]) for edit in some]
    a, target = rows_of(some)
    naive = torch.linalg.solve(50 * base.covariance + a.T @ a, a.T @ target)
    torch.testing.assert_close(values(LeastSquares(50.0), base, some), (base.values + naive).float())


def test_least_squares_raises_targets_until_its_rows_hold(base: Bank, made: list[Edit]) -> None:
    few = made[:4]
    a = torch.cat([edit.a for edit in few])
    x, wanted = torch.cat([edit.x for edit in few]), torch.cat([edit.wanted for edit in few])
    solved = values(LeastSquares(5.0), base, few)
    once = torch.linalg.solve(
        5 * base.covariance + a.double().T @ a.double(), a.double().T @ rows_of(few)[1]
    ).float()
    assert not holds(base, x + a @ once, wanted).all()
    assert holds(base, x + a @ (solved - base.values), wanted).all()


def test_fine_tuning_makes_its_own_edit_likelier(base: Bank, made: list[Edit]) -> None:
    edit = made[2]
    after = edit.x + edit.a @ (values(FineTuning(1e-2, 20), base, [edit]) - base.values)
    before, now = (float(loss(base.head, base.epsilon, x, edit.wanted).mean()) for x in (edit.x, after))
    assert now < 0.5 * before


def test_targets_reach_the_wanted_token_within_the_length_of_the_state(base: Bank) -> None:
    x, wanted = 3 * torch.randn(30, D, generator=torch.Generator().manual_seed(8)), torch.arange(30)
    found = targets(base.head, base.epsilon, x, wanted)
    reached = loss(base.head, base.epsilon, x + found, wanted)
    assert (found.norm(dim=-1) <= x.norm(dim=-1) * 1.0001).all()
    assert (reached < loss(base.head, base.epsilon, x, wanted)).all()
    assert (reached < ENOUGH).any()


def test_rows_do_not_know_each_other_when_targets_are_sought(base: Bank) -> None:
    x, wanted = torch.randn(5, D, generator=torch.Generator().manual_seed(9)), torch.arange(5)
    alone = torch.cat([targets(base.head, base.epsilon, x[i : i + 1], wanted[i : i + 1]) for i in range(5)])
    torch.testing.assert_close(targets(base.head, base.epsilon, x, wanted), alone, rtol=1e-3, atol=1e-3)


def keyed(edit: Edit, first: list[float], wanted: list[int]) -> Edit:
    """An edit of one token whose answer begins at this n."""
    n = torch.zeros(1, D)
    n[0, : len(first)] = torch.tensor(first)
    return replace(edit, n=n, wanted=torch.tensor(wanted), a=edit.a[:1], x=edit.x[:1], target=edit.target[:1])


def test_a_codebook_splits_where_answers_differ_and_grows_where_they_agree(
    base: Bank, made: list[Edit]
) -> None:
    method, state = Grace(1.0), Grace(1.0).start(base)
    stream = [([0.0, 1.0], [3]), ([1.5, 1.0], [3]), ([0.0, 3.0], [4]), ([9.0, 9.0], [3])]
    radii = []
    for number, (first, wanted) in enumerate(stream):
        state = method.step(base, state, keyed(made[number], first, wanted))
        radii.append(state.radii.tolist())
    assert radii == [[1.0], [1.5], [1.0, 1.0], [1.0, 1.0, 1.0]]


def test_a_split_gives_both_keys_half_the_distance(base: Bank, made: list[Edit]) -> None:
    method = Grace(1.0)
    state = method.step(base, method.start(base), keyed(made[0], [0.0, 1.0], [3]))
    state = method.step(base, state, keyed(made[1], [1.2, 1.0], [4]))
    assert state.radii.tolist() == pytest.approx([0.6, 0.6])
    asked = torch.zeros(3, D)
    asked[:, :2] = torch.tensor([[0.5, 1.0], [0.7, 1.0], [0.0, 2.0]])
    assert state.opened(asked).tolist() == [0, 1, NONE]


def test_a_slot_opens_for_its_own_question_and_for_no_reference_question(
    base: Bank, made: list[Edit]
) -> None:
    rows, report = fold(DecoderSlots(0.5, 0.2), base, made, {edit.id for edit in made})
    assert not isinstance(rows, Values)
    assert not report.refused
    assert rows.opened(torch.stack([edit.n[0] for edit in made])).tolist() == list(range(len(made)))
    assert rows.opened(base.reference).eq(NONE).all()


def test_of_two_slots_with_one_key_the_later_answers(base: Bank, made: list[Edit]) -> None:
    twice = [made[0], replace(made[1], n=2 * made[0].n[:1].expand_as(made[1].n))]
    rows, _ = fold(DecoderSlots(0.5, 0.2), base, twice, {"00", "01"})
    assert not isinstance(rows, Values)
    assert rows.opened(made[0].n[:1]).tolist() == [1]


def test_a_slot_on_a_reference_question_is_refused(base: Bank, made: list[Edit]) -> None:
    same = replace(made[0], n=3 * base.reference[:1])
    _, report = fold(DecoderSlots(0.5, 0.2), base, [same, made[1]], {"00", "01"})
    assert report.refused == {"00": "gate_collision"}
    assert report.made == ("01",)
