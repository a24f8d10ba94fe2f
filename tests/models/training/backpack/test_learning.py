"""A training is the same for a seed, goes on where it stopped, and learns its text."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.backpack.answering.prompt import Speller
from models.packs.pack import WORLD
from models.training.backpack.learning import Batches, Learning
from models.training.backpack.net import BackpackNet, PlainNet, build_net, count_parameters
from models.training.backpack.plan import DEFAULT, Plan, fingerprint
from models.training.backpack.texts import Texts
from models.training.harness.progress import Progress


def train(
    plan: Plan, batches: Batches, folder: Path, is_plain: bool, stops: tuple[int | None, ...]
) -> list[float]:
    folder.mkdir()
    losses = []
    for until in stops:
        learning = Learning(plan, build_net(plan, is_plain), batches, lambda line: None)
        losses += learning.run(Progress(folder, "same"), until)
    return losses


@pytest.mark.parametrize("is_plain", [False, True])
def test_a_training_that_was_stopped_comes_to_the_same_losses(
    plan: Plan, batches: Batches, tmp_path: Path, is_plain: bool
) -> None:
    whole = train(plan, batches, tmp_path / "whole", is_plain, (None,))
    parts = train(plan, batches, tmp_path / "parts", is_plain, (2, None))
    assert len(whole) == plan.steps
    assert parts == whole


@pytest.mark.parametrize("is_plain", [False, True])
def test_the_loss_falls(plan: Plan, batches: Batches, tmp_path: Path, is_plain: bool) -> None:
    losses = train(replace(plan, steps=30, lr=2e-2), batches, tmp_path / "run", is_plain, (None,))
    assert sum(losses[-5:]) / 5 < 0.85 * losses[0]


def test_both_networks_have_as_many_parameters_and_fit_the_limit() -> None:
    sizes = [count_parameters(build_net(DEFAULT, is_plain)) for is_plain in (False, True)]
    assert abs(sizes[0] - sizes[1]) < 0.03 * sizes[0]
    assert max(sizes) * 2 <= 20e6


def test_the_answers_of_a_document_weigh_more(plan: Plan, batches: Batches, speller: Speller) -> None:
    batch = batches.collate(
        [batches.encode("Q: where?\nA: Lima\nLima is far.\n"), batches.encode("Q: a?\nA: b\n")]
    )
    tokens, weights = batch.ids[0].tolist(), batch.weights[0]
    heavy = [token for token, weight in zip(tokens, weights.tolist(), strict=True) if weight > 1]
    assert speller.read(heavy) == " Lima\n"
    assert set(weights.tolist()) == {1.0, plan.answer_weight}
    assert batch.weights[1][~batch.is_real[1]].sum() == 0


def test_batches_go_on_from_any_step_and_leave_no_fact_out_for_long(batches: Batches, texts: Texts) -> None:
    every = batches.from_step(0)
    seven = [next(every) for _ in range(7)]
    for step in (3, 6):
        later = batches.from_step(step)
        assert torch.equal(next(later).ids, seven[step].ids)
    assert batches.per_epoch == len(texts.items) // 8


def test_senses_of_a_batch_are_those_of_each_token(plan: Plan) -> None:
    net = build_net(plan, is_plain=False)
    assert isinstance(net, BackpackNet)
    ids = torch.tensor([[3, 3, 9], [9, 5, 3]])
    alone = torch.stack([net.sense_network(net.embedding[id]) for id in ids.flatten()]).view(2, 3, 2, 16)
    torch.testing.assert_close(net.senses_of(ids), alone)


@pytest.mark.parametrize("is_plain", [False, True])
def test_padding_changes_no_prediction(plan: Plan, is_plain: bool) -> None:
    net: BackpackNet | PlainNet = build_net(plan, is_plain)
    ids = torch.tensor([[5, 6, 7]])
    bare = net.predict(ids, torch.ones_like(ids, dtype=torch.bool))
    for before, after in ((2, 0), (0, 2)):
        wide = torch.tensor([[0] * before + [5, 6, 7] + [0] * after])
        is_real = torch.tensor([[False] * before + [True] * 3 + [False] * after])
        torch.testing.assert_close(
            net.predict(wide, is_real)[:, before : before + 3], bare, atol=1e-6, rtol=1e-5
        )


def test_another_recipe_is_another_training(plan: Plan) -> None:
    prints = {fingerprint(plan, WORLD, is_plain) for is_plain in (False, True)}
    prints.add(fingerprint(replace(plan, lr=1.0), WORLD, False))
    assert len(prints) == 3
