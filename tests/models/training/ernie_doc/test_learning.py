"""The loss falls, an interrupted training goes on exactly, and MiniLM's states can be learned."""

from pathlib import Path

import torch
from tokenizers import Tokenizer

from models.ernie_doc.checkpoint import WORDS, load, minilm_weights, save
from models.training.ernie_doc.composed import World
from models.training.ernie_doc.examples import Examples
from models.training.ernie_doc.learning import Learning, build_model
from models.training.ernie_doc.training import PLAN as DEFAULT
from models.training.kit.plan import Plan
from models.training.kit.progress import Progress
from tests.models.training import toys
from tests.models.training.toys import ERNIE_DOC as PLAN


class OneStep(Examples):
    """The documents of the first step, again and again."""

    def step(self, number: int):  # type: ignore[no-untyped-def]
        return super().step(0)


def begin(plan: Plan, world: World, tokenizer: Tokenizer, kind: type[Examples] = Examples) -> Learning:
    examples = kind(world, plan.mixture, tokenizer, plan.question_room, plan.seed)
    return Learning(plan, build_model(plan), examples, toys.packing(), lambda line: None)


def test_the_loss_of_the_same_documents_falls(world: World, tokenizer: Tokenizer, tmp_path: Path) -> None:
    plan = PLAN.change(steps=24, keep_every=24)
    losses = begin(plan, world, tokenizer, OneStep).run(Progress(tmp_path, "a"))
    assert len(losses) == 24
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])


def test_the_model_begins_as_minilm_and_its_checkpoint_is_small(tmp_path: Path) -> None:
    model = build_model(DEFAULT)
    state = model.state_dict()
    weights = minilm_weights(state)
    assert len(weights) == 3 + 6 * 16
    assert all(state[name].equal(value) for name, value in weights.items())
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter += 0.01
    save(model, tmp_path, "minilm", torch.float16)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 25e6
    assert load(tmp_path).model.state_dict()[WORDS].equal(weights[WORDS])
