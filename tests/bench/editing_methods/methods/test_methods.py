"""Every editing method gives the base without edits, exact undo, and its own closed form."""

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
from tests.bench.editing_methods.methods.method import NONE, Bank, Edit, Method, Replay, Rows, Values, fold
from tests.bench.editing_methods.methods.retraining import Retraining
from tests.bench.editing_methods.methods.small import SLOTS, D, make_bank, make_edits
from tests.bench.editing_methods.methods.targets import ENOUGH, find_targets, logits, loss
from tests.one_thread import one_thread as one_thread

MEMIT, PREVIOUS = Memit("memit", 0.5, remember=False), Memit("previous keys", 0.5, remember=True)
DENSE: list[Method] = [
    MEMIT,
    PREVIOUS,
    AlphaEdit(2.0, 1.0),
    LeastSquares(0.5),
    FineTuning(1e-2, 3),
    Retraining(1e-2, 3),
]
GATED: list[Method] = [DecoderSlots(0.5, 0.2), Grace(1.0)]
ALL = [*DENSE, *GATED]


@pytest.fixture(scope="module")
def base() -> Bank:
    return make_bank()


@pytest.fixture(scope="module")
def edits(base: Bank) -> list[Edit]:
    return make_edits(9, base)


def values(method: Method, bank: Bank, edits: list[Edit], active: set[str] | None = None) -> Tensor:
    rows, _ = fold(method, bank, edits, {edit.id for edit in edits} if active is None else active)
    assert isinstance(rows, Values)
    return rows.rows


def tensors(rows: Rows) -> list[Tensor]:
    parts = [getattr(rows, field.name) for field in fields(rows)]  # type: ignore[arg-type]
    return [
        tensor
        for part in parts
        for tensor in ([part] if isinstance(part, Tensor) else part)
        if isinstance(tensor, Tensor)
    ]


def rows_of(edits: list[Edit]) -> tuple[Tensor, Tensor]:
    """Return all slot weights and targets, in double precision."""
    return torch.cat([edit.a for edit in edits]).double(), torch.cat([edit.target for edit in edits]).double()


@pytest.mark.parametrize("method", DENSE, ids=lambda method: method.name)
def test_without_edits_the_values_are_the_bases_bit_for_bit(method: Method, base: Bank) -> None:
    assert torch.equal(values(method, base, []), base.values)


@pytest.mark.parametrize("method", GATED, ids=lambda method: method.name)
def test_without_edits_no_question_opens_an_entry(method: Method, base: Bank) -> None:
    rows, _ = fold(method, base, [], set())
    assert not isinstance(rows, Values)
    assert rows.select(base.reference).eq(NONE).all()


@pytest.mark.parametrize("method", ALL, ids=lambda method: method.name)
def test_an_edit_taken_back_leaves_the_bits_of_never_having_made_it(
    method: Method, base: Bank, edits: list[Edit]
) -> None:
    other_edits = [edit for edit in edits if edit.id not in ("03", "04")]
    fold(method, base, edits, {edit.id for edit in edits})
    rows, report = fold(method, base, edits, {edit.id for edit in other_edits})
    fresh_rows, _ = fold(method, base, other_edits, {edit.id for edit in other_edits})
    assert report.applied == tuple(edit.id for edit in other_edits)
    assert all(
        torch.equal(tensor, fresh_tensor)
        for tensor, fresh_tensor in zip(tensors(rows), tensors(fresh_rows), strict=True)
    )


@pytest.mark.parametrize("method", DENSE, ids=lambda method: method.name)
def test_an_edit_changes_the_values(method: Method, base: Bank, edits: list[Edit]) -> None:
    assert not torch.equal(values(method, base, edits[:1]), base.values)


def test_a_first_batch_is_memits_closed_form(base: Bank, edits: list[Edit]) -> None:
    a, target = rows_of(edits[2:3])
    naive = torch.linalg.solve(0.5 * base.covariance + a.T @ a, a.T @ target)
    torch.testing.assert_close(values(MEMIT, base, edits[2:3]), (base.values + naive).float())


def test_memit_forgets_the_keys_of_earlier_edits(base: Bank, edits: list[Edit]) -> None:
    offset = torch.zeros(SLOTS, D, dtype=torch.float64)
    for edit in edits:
        a, target = rows_of([edit])
        offset += torch.linalg.solve(0.5 * base.covariance + a.T @ a, a.T @ (target - a @ offset))
    torch.testing.assert_close(values(MEMIT, base, edits), (base.values + offset).float())


def test_previous_keys_reach_the_solution_over_all_edits_at_once(base: Bank, edits: list[Edit]) -> None:
    a, target = rows_of(edits)
    naive = torch.linalg.solve(0.5 * base.covariance + a.T @ a, a.T @ target)
    torch.testing.assert_close(values(PREVIOUS, base, edits), (base.values + naive).float())


def test_alphaedit_is_its_authors_equation(base: Bank, edits: list[Edit]) -> None:
    theta, ridge = float(torch.linalg.eigvalsh(base.covariance).median()), 0.7
    q, eye = null_projection(base, theta), torch.eye(SLOTS, dtype=torch.float64)
    offset, previous = torch.zeros(SLOTS, D, dtype=torch.float64), torch.zeros_like(q)
    for edit in edits:
        a, target = rows_of([edit])
        offset += torch.linalg.solve(q @ (a.T @ a + previous) + ridge * eye, q @ a.T @ (target - a @ offset))
        previous += a.T @ a
    torch.testing.assert_close(values(AlphaEdit(theta, ridge), base, edits), (base.values + offset).float())


def test_alphaedit_leaves_directions_of_preserved_keys_alone(base: Bank, edits: list[Edit]) -> None:
    theta = float(torch.linalg.eigvalsh(base.covariance).median())
    offset = (values(AlphaEdit(theta, 0.7), base, edits) - base.values).double()
    preserved_directions = torch.eye(SLOTS, dtype=torch.float64) - null_projection(base, theta)
    assert float((preserved_directions @ offset).norm()) < 1e-5 * float(offset.norm())


def test_alphaedit_without_a_null_space_refuses(base: Bank, edits: list[Edit]) -> None:
    rows, report = fold(AlphaEdit(0.0, 1.0), base, edits, {edit.id for edit in edits})
    assert set(report.refused.values()) == {"no_reach"}
    assert len(report.refused) == len(edits)
    assert isinstance(rows, Values)
    assert torch.equal(rows.rows, base.values)


@pytest.mark.parametrize("method", [MEMIT, PREVIOUS], ids=lambda method: method.name)
def test_an_edit_on_which_no_slot_fires_is_refused_and_the_others_are_made(
    method: Method, base: Bank, edits: list[Edit]
) -> None:
    silent = replace(edits[1], a=torch.zeros_like(edits[1].a))
    _, report = fold(method, base, [edits[0], silent, edits[2]], {"00", "01", "02"})
    assert report.applied == ("00", "02")
    assert report.refused == {"01": "no_reach"}


def test_least_squares_does_not_care_for_order(base: Bank, edits: list[Edit]) -> None:
    method = LeastSquares(0.5)
    torch.testing.assert_close(
        values(method, base, edits[::-1]), values(method, base, edits), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("count", [8, 48], ids=["through rows", "through slots"])
def test_least_squares_is_one_solve_where_all_rows_hold(count: int, base: Bank) -> None:
    """Rows that lead by far already need no further target, for any values."""
    base = replace(base, head=10 * torch.eye(D))
    edits = [replace(edit, tokens=edit.tokens % D) for edit in make_edits(count, make_bank())]
    edits = [replace(edit, x=1000 * base.head[edit.tokens]) for edit in edits]
    a, target = rows_of(edits)
    naive = torch.linalg.solve(50 * base.covariance + a.T @ a, a.T @ target)
    torch.testing.assert_close(values(LeastSquares(50.0), base, edits), (base.values + naive).float())


def test_least_squares_raises_targets_until_its_rows_hold(base: Bank, edits: list[Edit]) -> None:
    first_edits = edits[:4]
    a = torch.cat([edit.a for edit in first_edits])
    x, tokens = torch.cat([edit.x for edit in first_edits]), torch.cat([edit.tokens for edit in first_edits])
    solution = values(LeastSquares(5.0), base, first_edits)
    once = torch.linalg.solve(
        5 * base.covariance + a.double().T @ a.double(), a.double().T @ rows_of(first_edits)[1]
    ).float()
    assert not holds(base, x + a @ once, tokens).all()
    assert holds(base, x + a @ (solution - base.values), tokens).all()


def test_fine_tuning_makes_its_own_edit_likelier(base: Bank, edits: list[Edit]) -> None:
    edit = edits[2]
    after = edit.x + edit.a @ (values(FineTuning(1e-2, 20), base, [edit]) - base.values)
    before, now = (float(loss(base.head, base.epsilon, x, edit.tokens).mean()) for x in (edit.x, after))
    assert now < 0.5 * before


def test_retraining_makes_its_edits_likelier(base: Bank, edits: list[Edit]) -> None:
    a, x, tokens = (torch.cat([getattr(edit, name) for edit in edits]) for name in ("a", "x", "tokens"))
    offset = values(Retraining(1e-2, 40), base, edits) - base.values
    before, now = (float(loss(base.head, base.epsilon, rows, tokens).mean()) for rows in (x, x + a @ offset))
    assert now < 0.7 * before


def test_retraining_keeps_what_it_replays(base: Bank, edits: list[Edit]) -> None:
    """Replaying the edits themselves in place of reference rows loses more of the reference rows."""
    said_tokens = logits(base.head, base.epsilon, base.replay.x).argmax(-1)
    reference = replace(base.replay, tokens=said_tokens)
    a, x, tokens = (torch.cat([getattr(edit, name) for edit in edits]) for name in ("a", "x", "tokens"))

    def measure_loss(replay: Replay) -> float:
        offset = values(Retraining(1e-2, 40), replace(base, replay=replay), edits) - base.values
        now = reference.x + reference.a.float() @ offset
        return float(loss(base.head, base.epsilon, now, said_tokens).mean())

    assert measure_loss(reference) < 0.8 * measure_loss(Replay(a.half(), x, tokens))


def test_retraining_starts_from_the_base_each_time(base: Bank, edits: list[Edit]) -> None:
    method = Retraining(1e-2, 3)
    assert torch.equal(values(method, base, edits), values(method, base, edits))


def test_targets_reach_the_wanted_token_within_the_length_of_the_state(base: Bank) -> None:
    x, tokens = 3 * torch.randn(30, D, generator=torch.Generator().manual_seed(8)), torch.arange(30)
    offsets = find_targets(base.head, base.epsilon, x, tokens)
    losses = loss(base.head, base.epsilon, x + offsets, tokens)
    assert (offsets.norm(dim=-1) <= x.norm(dim=-1) * 1.0001).all()
    assert (losses < loss(base.head, base.epsilon, x, tokens)).all()
    assert (losses < ENOUGH).any()


def test_rows_do_not_know_each_other_when_targets_are_sought(base: Bank) -> None:
    x, tokens = torch.randn(5, D, generator=torch.Generator().manual_seed(9)), torch.arange(5)
    alone = torch.cat(
        [find_targets(base.head, base.epsilon, x[i : i + 1], tokens[i : i + 1]) for i in range(5)]
    )
    torch.testing.assert_close(find_targets(base.head, base.epsilon, x, tokens), alone, rtol=1e-3, atol=1e-3)


def edit_with_key(edit: Edit, first: list[float], tokens: list[int]) -> Edit:
    """Return an edit of one token whose answer begins at this n."""
    n = torch.zeros(1, D)
    n[0, : len(first)] = torch.tensor(first)
    return replace(edit, n=n, tokens=torch.tensor(tokens), a=edit.a[:1], x=edit.x[:1], target=edit.target[:1])


def test_a_codebook_splits_where_answers_differ_and_grows_where_they_agree(
    base: Bank, edits: list[Edit]
) -> None:
    method, state = Grace(1.0), Grace(1.0).start(base)
    stream = [([0.0, 1.0], [3]), ([1.5, 1.0], [3]), ([0.0, 3.0], [4]), ([9.0, 9.0], [3])]
    radii = []
    for number, (first, tokens) in enumerate(stream):
        state = method.step(base, state, edit_with_key(edits[number], first, tokens))
        radii.append(state.radii.tolist())
    assert radii == [[1.0], [1.5], [1.0, 1.0], [1.0, 1.0, 1.0]]


def test_a_split_gives_both_keys_half_the_distance(base: Bank, edits: list[Edit]) -> None:
    method = Grace(1.0)
    state = method.step(base, method.start(base), edit_with_key(edits[0], [0.0, 1.0], [3]))
    state = method.step(base, state, edit_with_key(edits[1], [1.2, 1.0], [4]))
    assert state.radii.tolist() == pytest.approx([0.6, 0.6])
    queries = torch.zeros(3, D)
    queries[:, :2] = torch.tensor([[0.5, 1.0], [0.7, 1.0], [0.0, 2.0]])
    assert state.select(queries).tolist() == [0, 1, NONE]


def test_a_slot_opens_for_its_own_question_and_for_no_reference_question(
    base: Bank, edits: list[Edit]
) -> None:
    rows, report = fold(DecoderSlots(0.5, 0.2), base, edits, {edit.id for edit in edits})
    assert not isinstance(rows, Values)
    assert not report.refused
    assert rows.select(torch.stack([edit.n[0] for edit in edits])).tolist() == list(range(len(edits)))
    assert rows.select(base.reference).eq(NONE).all()


def test_of_two_slots_with_one_key_the_later_answers(base: Bank, edits: list[Edit]) -> None:
    twice = [edits[0], replace(edits[1], n=2 * edits[0].n[:1].expand_as(edits[1].n))]
    rows, _ = fold(DecoderSlots(0.5, 0.2), base, twice, {"00", "01"})
    assert not isinstance(rows, Values)
    assert rows.select(edits[0].n[:1]).tolist() == [1]


def test_a_slot_on_a_reference_question_is_refused(base: Bank, edits: list[Edit]) -> None:
    same = replace(edits[0], n=3 * base.reference[:1])
    _, report = fold(DecoderSlots(0.5, 0.2), base, [same, edits[1]], {"00", "01"})
    assert report.refused == {"00": "gate_collision"}
    assert report.applied == ("01",)
