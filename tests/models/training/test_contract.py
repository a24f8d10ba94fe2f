"""What every training keeps: it goes on exactly where it stopped, and learns from no text of a test."""

import random
from collections.abc import Callable, Iterable
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from models.training.backpack.exam import draw_cases
from models.training.backpack.texts import Texts
from models.training.backpack.training import PLAN as BACKPACK
from models.training.ernie_doc.composed import SHORT, build_world, compose
from models.training.ernie_doc.examples import Examples as Documents
from models.training.ernie_doc.training import PLAN as ERNIE_DOC
from models.training.kbert.examples import Examples
from models.training.kbert.training import PLAN as KBERT
from models.training.kit.progress import Progress
from models.training.kit.steps import Steps
from models.training.nkb import texts as nkb
from models.training.nkb.training import PLAN as NKB
from models.training.packs.names import read_names
from models.training.reading.composed import PassageMaker
from models.training.reading.written.texts import Split, read_texts
from models.training.relational import training as relational
from models.training.relational.compositions import Compositions
from models.training.relational.learning import Learning
from models.training.texts.phrasings import CHOOSE_HANDS, TEST_HANDS, read_phrasings, reword
from models.training.thu_ernie import wordings as thu_ernie
from models.training.thu_ernie.training import PLAN as THU_ERNIE
from models.training.thu_ernie.wordings import Wordings
from tests.models.training import toys
from tests.models.training.relational.test_learning import MAKER, PLAN, RELATIONS, reader

Begin = Callable[[Any], Steps]
SPLITS: tuple[Split, ...] = ("train", "choose", "test")
TRAININGS: dict[str, tuple[Any, Begin, tuple[str, ...]]] = {  # plan, training of a plan, frozen weights
    "backpack": (toys.BACKPACK, toys.begin_backpack, ()),
    "ernie_doc": (toys.ERNIE_DOC, toys.begin_ernie_doc, toys.ERNIE_DOC.frozen),
    "thu_ernie": (toys.THU_ERNIE, toys.begin_thu_ernie, toys.THU_ERNIE.frozen),
    "relational": (
        PLAN.change(steps=4, keep_every=2),
        lambda plan: Learning(plan, reader(), MAKER.draw, print),
        (),
    ),
    "reading": (toys.READING, toys.begin_reading, ("bert.word_embeddings",)),
}


@pytest.mark.parametrize(("plan", "begin", "frozen"), TRAININGS.values(), ids=TRAININGS)
def test_a_training_that_was_stopped_comes_to_the_same_weights(
    plan: Any, begin: Begin, frozen: tuple[str, ...], tmp_path: Path
) -> None:
    before = {name: value.clone() for name, value in begin(plan)._network.state_dict().items()}
    losses, states = [], []
    for name, stops in (("whole", (None,)), ("parts", (2, None))):
        (tmp_path / name).mkdir()
        parts = []
        for until in stops:
            learning = begin(plan)
            parts += learning.run(Progress(tmp_path / name, "same"), until)
        losses.append(parts)
        states.append(learning._network.state_dict())
    assert losses[0] == losses[1]
    assert len(losses[0]) == plan.steps
    assert all(value.equal(states[1][name]) for name, value in states[0].items())
    changed = {name for name, value in before.items() if not value.equal(states[0][name])}
    assert changed
    assert not [name for name in changed if name.startswith(frozen)] or not frozen


@cache
def full_texts() -> Texts:
    return Texts(toys.pack(), BACKPACK.texts, seed=0)


def document_texts(step: int) -> list[str]:
    examples = Documents(toys.documents_world(), ERNIE_DOC.mixture, toys.tokenizer(), 32, 1)
    return [passage.document.text for passage in examples.step(step)]


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: nkb.split_items(toys.pack(), 100, 50, seed),
        lambda seed: toys.backpack_texts().documents(seed),
        lambda seed: draw_cases(full_texts(), 5, seed),
        lambda seed: compose(toys.documents_world(), SHORT, random.Random(seed)),
        document_texts,
        lambda seed: Examples(toys.kbert_world(), KBERT.mixture, KBERT.seed).step(seed),
        lambda seed: MAKER.draw(random.Random(seed)),
        lambda seed: toys.setup().questions.draw(random.Random(seed)).question,
        lambda seed: toys.reading_examples().draw(seed, random.Random(seed)),
    ],
)
def test_the_same_seed_or_step_draws_the_same_and_another_does_not(draw: Callable[[int], Any]) -> None:
    assert draw(3) == draw(3)
    assert draw(3) != draw(4)


Parts = Iterable[Iterable[Any]]


def nkb_lines() -> Parts:
    pack = toys.pack()
    lines = nkb.write_lines(reword(pack, CHOOSE_HANDS), reword(pack, TEST_HANDS), NKB.wordings, 1)
    forms = (("trained", "masked"), ("tuning", "held"))
    return [[line.text for line in lines if line.form in part] for part in forms]


def pack_wordings() -> Parts:
    """Give the words of a relation that are trained, and those that a test asks in."""
    relations = reword(toys.pack(), TEST_HANDS).relations
    return [
        {
            (id, text.casefold().rstrip(" .?!"))
            for id, relation in relations.items()
            for text in texts(relation)
        }
        for texts in (lambda relation: relation.phrasings, lambda relation: relation.held_out)
    ]


def backpack_ways() -> Parts:
    texts = full_texts()
    ways = {
        split: {
            (i.relation.id, way) for place, i in enumerate(texts.items) for way in texts.ways(place, split)
        }
        for split in ("trained", "held", "choosing", "test")
    }
    assert all(len({relation for relation, _ in part}) == 49 for part in ways.values())
    return [ways.pop("trained"), set[Any]().union(*ways.values())]


def backpack_questions() -> Parts:
    texts = toys.backpack_texts()
    trained = {line for epoch in range(30) for text in texts.documents(epoch) for line in text.splitlines()}
    questions = (texts.questions(split, 100) for split in ("held", "choosing", "test", "other"))
    return [trained, [f"Q: {question.ask.question}" for part in questions for question in part]]


def kbert_wordings() -> Parts:
    relations = toys.relations()
    return [
        [text.casefold() for r in part.values() for text in (r.id, *r.phrasings)]
        for part in (relations.train, relations.tune, relations.held_out)
    ]


def compositions() -> Parts:
    half, rng = Compositions(RELATIONS, 2, 0), random.Random(1)
    return [
        [tuple(r.id for r in half.draw(n, is_held, rng)) for n in (2, 3) for _ in range(80)]
        for is_held in (False, True)
    ]


def thu_ernie_wordings() -> Parts:
    wordings, test = Wordings.of(toys.pack()), read_phrasings(thu_ernie.TEST_HANDS)
    parts = (wordings.train, {id: words.questions for id, words in test.items()})
    return [[(id, text.casefold()) for id, texts in part.items() for text in texts] for part in parts]


def composed_subjects() -> Parts:
    train = Wordings.of(toys.pack()).train
    for split in SPLITS:
        maker = PassageMaker(toys.pack(), train, THU_ERNIE.mixture, split)
        yield [maker.compose(random.Random(seed))[0].title for seed in range(40)]


@pytest.mark.parametrize(
    "parts",
    [
        nkb_lines,
        pack_wordings,
        lambda: [[entry.name.casefold() for entry in read_names(half)] for half in ("train", "test")],
        backpack_ways,
        backpack_questions,
        lambda: [build_world(toys.pack(), split).by_subject for split in SPLITS],
        lambda: [build_world(toys.pack(), split).fillers for split in ("train", "test")],
        lambda: [[text.text for text in read_texts(split)] for split in SPLITS],
        composed_subjects,
        kbert_wordings,
        lambda: [relational.TRAIN_HANDS, relational.TEST_HANDS],
        compositions,
        thu_ernie_wordings,
        lambda: Wordings.of(toys.pack()).strange.values(),
    ],
)
def test_what_is_learned_chosen_by_and_tested_shares_nothing(parts: Callable[[], Parts]) -> None:
    every = [set(part) for part in parts()]
    assert all(every)
    assert not [first & second for first, second in combinations(every, 2) if first & second]
