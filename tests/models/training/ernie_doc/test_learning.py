"""ERNIE-Doc learns a toy task."""

import random
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from models.ernie_doc.checkpoint import Checkpoint, load, save
from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.minilm import WORDS, minilm_weights
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.reader import Packing, Reader
from models.training.ernie_doc.batch import NONE, collate, draw_rows, read_memories
from models.training.ernie_doc.composed import MIDDLE, SHORT, SUBJECTS, World, compose
from models.training.ernie_doc.exam import N_CHOOSE, choosing_texts
from models.training.ernie_doc.examples import Examples, Passage
from models.training.ernie_doc.learning import Learning, build_model
from models.training.ernie_doc.training import PLAN as DEFAULT
from models.training.kit.plan import Plan
from models.training.kit.progress import Progress
from models.training.reading.written.texts import HELD_HAND, PASSAGES, Text, check, read_texts
from tests.models.ernie_doc.tiny import read_all
from tests.models.training import toys
from tests.models.training.toys import ERNIE_DOC as PLAN


@pytest.fixture
def world() -> World:
    return toys.documents_world()


@pytest.fixture
def tokenizer() -> Tokenizer:
    return toys.tokenizer()


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


@pytest.fixture
def packing() -> Packing:
    return toys.packing()


@pytest.fixture
def passages(world: World, tokenizer: Tokenizer) -> list[Passage]:
    examples = Examples(world, PLAN.mixture, tokenizer, PLAN.question_room, 1)
    return [*examples.step(0), *examples.step(1)]


def test_targets_are_the_tokens_of_the_answer(passages: list[Passage], packing: Packing) -> None:
    rows = draw_rows(passages, packing, PLAN.mixture, random.Random(0))
    assert len(rows) == PLAN.mixture.n_rows
    ends = [len(packing.windows(len(passage.document))) - 1 for passage in passages]
    memories = read_memories(ErnieDoc(PLAN.model.make(ErnieDocConfig)).eval(), passages, packing, ends)
    batch = collate(rows, memories, packing)
    answers = 0
    for row, ids, (start, end) in zip(rows, batch.segments.ids, batch.targets.tolist(), strict=True):
        if start != NONE:
            first, last = row.example.span or (0, 0)
            expected = passages[row.passage].document.ids[first : last + 1]
            assert ids[start : end + 1].equal(expected)
            answers += 1
        else:
            assert end == NONE
    assert answers == round(PLAN.mixture.n_rows * PLAN.mixture.present)


def test_memories_are_those_of_a_reader(passages: list[Passage], packing: Packing) -> None:
    model = ErnieDoc(PLAN.model.make(ErnieDocConfig)).eval().requires_grad_(False)
    memories = read_memories(model, passages, packing, [3, 1])
    assert [len(states) for states in memories] == [4, 2]
    reader = Reader(Checkpoint(model, "tiny"), packing)
    for passage, states in zip(passages, memories, strict=True):
        before = [reader.start(), *read_all(reader, passage.document)]
        for actual, expected in zip(states, before, strict=False):
            torch.testing.assert_close(actual, expected.memory)


def texts(world: World, count: int) -> list[Text]:
    return [
        compose(world, shape, random.Random(number)) for number in range(count) for shape in (SHORT, MIDDLE)
    ]


def test_every_answer_stands_where_its_question_says(world: World) -> None:
    kinds = set()
    for text in texts(world, 40):
        for question in text.questions:
            check(question, text.text, "composed")
            kinds.add(question.kind)
    assert kinds == {"plain", "alias", "steps", "unanswerable"}


def test_a_named_subject_is_not_named_where_its_fact_is(world: World) -> None:
    for text in texts(world, 40):
        aliases = [question for question in text.questions if question.kind == "alias"]
        assert len(aliases) == SUBJECTS
        for question in aliases:
            assert question.start is not None
            assert question.start > 100
            sentence = text.text[: question.start].rpartition(". ")[2]
            subjects = [name for name in world_names(world) if len(name) > 4 and name in question.text]
            assert not any(name in sentence for name in subjects)


def world_names(world: World) -> set[str]:
    return {facts[0].subject.label for facts in world.by_subject.values()}


def test_the_texts_to_choose_by_are_of_every_hand_but_the_one_that_is_held_out() -> None:
    texts = choosing_texts(DEFAULT.seed)
    hands = {f"passages {path.stem}" for path in PASSAGES.glob("*.jsonl")}
    assert texts.keys() == {"documents", *hands} - {f"passages {HELD_HAND}"}
    test_texts = {text.text for text in read_texts("test", PASSAGES)}
    for part in texts.values():
        assert len(part) == N_CHOOSE
        assert not test_texts & {text.text for text in part}
