"""The loss falls, an interrupted training goes on exactly, and MiniLM's states can be learned."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from models.encoder.minilm import MiniLM
from models.ernie_doc.loading.checkpoint import load, save
from models.ernie_doc.loading.minilm import WORDS, minilm_weights
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.positions import row_index
from models.ernie_doc.reading.packing import Packing
from models.packs.pack import WORLD
from models.reading.windows import OFFSET, Window
from models.training.ernie_doc.composed import World
from models.training.ernie_doc.examples import Examples
from models.training.ernie_doc.learning import Learning, build_model, stretch_positions
from models.training.ernie_doc.plan import DEFAULT, Plan, fingerprint
from models.training.ernie_doc.teacher import Teacher
from models.training.harness.progress import Progress
from tests.models.training.ernie_doc.tiny import PLAN

CPU = torch.device("cpu")


class OneStep(Examples):
    """The documents of the first step, again and again."""

    def step(self, number: int):  # type: ignore[no-untyped-def]
        return super().step(0)


def begin(plan: Plan, world: World, tokenizer: Tokenizer, kind: type[Examples] = Examples) -> Learning:
    packing = Packing.of(tokenizer, plan.model.segment, plan.question_room, plan.overlap, plan.model.points)
    examples = kind(world, plan.mixture, tokenizer, plan.question_room, plan.seed)
    return Learning(plan, build_model(plan), examples, packing, lambda line: None)


def test_the_loss_of_the_same_documents_falls(world: World, tokenizer: Tokenizer, tmp_path: Path) -> None:
    plan = replace(PLAN, steps=24, keep_every=24)
    losses = begin(plan, world, tokenizer, OneStep).run(Progress(tmp_path, "a"))
    assert len(losses) == 24
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])


def test_an_interrupted_training_goes_on_exactly(world: World, tokenizer: Tokenizer, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    whole = begin(PLAN, world, tokenizer)
    expected = whole.run(Progress(tmp_path / "a", "a"))
    first = begin(PLAN, world, tokenizer).run(Progress(tmp_path / "b", "a"), until=3)
    rest = begin(PLAN, world, tokenizer)
    assert first + rest.run(Progress(tmp_path / "b", "a")) == expected
    for name, value in whole.model.state_dict().items():
        assert rest.model.state_dict()[name].equal(value), name


def test_what_is_frozen_stays(world: World, tokenizer: Tokenizer, tmp_path: Path) -> None:
    learning = begin(PLAN, world, tokenizer)
    before = {name: value.clone() for name, value in learning.model.state_dict().items()}
    learning.run(Progress(tmp_path, "a"), until=2)
    after = learning.model.state_dict()
    assert after[WORDS].equal(before[WORDS])
    assert not after["encoder.layers.0.attn.r_proj.weight"].equal(
        before["encoder.layers.0.attn.r_proj.weight"]
    )


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


def test_the_teacher_gives_the_states_of_minilm(world: World, tokenizer: Tokenizer) -> None:
    packing = Packing.of(tokenizer, 128, 32, 12)
    passages = Examples(world, DEFAULT.mixture, tokenizer, 32, 1).step(0)[:2]
    windows = [Window(0, 50), Window(30, 90)]
    encoder = MiniLM()
    for passage, window, actual in zip(
        passages, windows, Teacher(packing, 20, CPU).states(passages, windows), strict=True
    ):
        first = max(0, window.first - 20)
        ids = [packing.cls, *passage.document.ids[first : window.last].tolist(), packing.sep]
        embedded = encoder.embed(torch.tensor(ids), torch.arange(len(ids)))
        is_real = torch.ones(1, len(ids), dtype=torch.bool)
        states = encoder._bert(embedded, is_real, is_real[:, None, :])[0]
        expected = states[OFFSET + window.first - first : OFFSET + window.last - first]
        torch.testing.assert_close(actual, expected, atol=1e-4, rtol=0)


def test_minilms_states_are_learned_through_the_memory(
    world: World, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    """The width must be MiniLM's; one layer of it is enough for a distance that falls."""
    model = replace(PLAN.model, width=384, heads=12, inner=1536)
    plan = replace(PLAN, model=model, adaptation_steps=5, steps=5, keep_every=5, lr=1e-3, fresh_lr=1e-3)
    losses = begin(plan, world, tokenizer, OneStep).run(Progress(tmp_path, "a"))
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize("change", [{"seed": 1}, {"steps": 7}, {"mixture": replace(PLAN.mixture, n_rows=7)}])
def test_another_plan_has_another_fingerprint(change: dict[str, object]) -> None:
    assert fingerprint(PLAN, WORLD) == fingerprint(replace(PLAN), WORLD)
    assert fingerprint(PLAN, WORLD) != fingerprint(replace(PLAN, **change), WORLD)  # type: ignore[arg-type]


def test_a_model_of_another_width_starts_without_minilm() -> None:
    assert isinstance(build_model(PLAN), ErnieDoc)
    assert minilm_weights(build_model(PLAN).state_dict()) == {}


def test_positions_keep_their_distances_in_segments_of_another_length() -> None:
    start = build_model(PLAN)
    segment, memory = PLAN.model.segment, PLAN.model.memory
    rows = stretch_positions(start, replace(PLAN.model, segment=60, memory=20, position_rows=2 * 60 + 20))
    table, old, new = start.embeddings.pos_emb.weight, row_index(segment, memory), row_index(60, 20)
    same_keys = new[:segment, 20 - memory : 20 + segment]  # the same distances as in the shorter segment
    torch.testing.assert_close(rows[same_keys], table[old])
    torch.testing.assert_close(rows[new[-1, 0]], table[old[-1, 0]])
