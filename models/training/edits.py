"""The reach of an edit and its effect on other answers, for facts whose questions the gates were not trained on.

Definitions: all edits are active at once; a new answer is another answer of the same relation; one phrasing is given;
answers of free generation are matched to the letter. Reliability asks the given phrasing, generalisation held
phrasings; a withheld answer and a refused edit count as wrong. Locality is the share of other answers that stay the
same, withheld or given.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from models.memory import AnswerChange, Material, Memory, Views
from models.nkb.memory import BANK, BankOptions
from models.packs.pack import Item
from models.system import Ask, Reply, System
from models.training.states import BATCH

MOST_ASKED = 1000  # questions of each kind of bystander
TOGETHER = {
    "gated"
}  # methods that build many edits in one call; a method that refuses single facts gets one at a time


@dataclass(frozen=True)
class Share:
    """The share of questions with the wanted result."""

    right: int
    n_questions: int

    def __str__(self) -> str:
        return (
            f"{100 * self.right / self.n_questions:.1f} ({self.n_questions:,})"
            if self.n_questions
            else "none asked"
        )


@dataclass(frozen=True)
class EditFigures:
    """Figures of one method; `refused` edits count the refusals, `milliseconds` are for each edit."""

    edits: int
    refused: int
    reliability: Share
    generalisation: Share
    neighbours: Share
    same_subject: Share
    random: Share
    milliseconds: float

    def shares(self) -> tuple[Share, ...]:
        """Return the shares in the order of the card."""
        return self.reliability, self.generalisation, self.neighbours, self.same_subject, self.random


def measure(
    system: System, memory: Memory, items: Sequence[Item], targets: Sequence[int], method: str, seed: int
) -> EditFigures:
    """Make an edit for each of `targets`, all active, and ask around them.

    Args:
        system: System that is asked.
        memory: Its bank.
        items: Facts of the pack.
        targets: Indices of the facts to edit.
        method: Editing method.
        seed: Seed of the draws.
    """
    rng = random.Random(seed)
    answers = {index: _other_answer(items, index, rng) for index in targets}
    changes = [AnswerChange(str(index), _ask(items[index], 0), answer) for index, answer in answers.items()]
    start = time.perf_counter()
    materials = build(memory, changes, method)
    seconds = time.perf_counter() - start
    before = {BANK: memory.view(memory.base)}
    after = {BANK: memory.view(memory.fold(_in_order(materials)))}
    near, same, far = (
        _count_unchanged(system, before, after, [_held_question(items[i], rng) for i in _sample(group, rng)])
        for group in _bystanders(items, targets)
    )
    edits = {int(material.edit) for material in materials}
    trained = {i: (_ask(items[i], 0), answer) for i, answer in answers.items()}
    paraphrases = {i: (_held_question(items[i], rng), answer) for i, answer in answers.items()}
    return EditFigures(
        edits=len(answers),
        refused=len(answers) - len(edits),
        reliability=Share(_hits(system, after, [trained[i] for i in answers if i in edits]), len(answers)),
        generalisation=Share(
            _hits(system, after, [paraphrases[i] for i in answers if i in edits]), len(answers)
        ),
        neighbours=near,
        same_subject=same,
        random=far,
        milliseconds=1e3 * seconds / len(answers),
    )


def build(memory: Memory, changes: Sequence[AnswerChange], method: str) -> list[Material]:
    """Build the materials of the changes, without those that the method refuses."""
    options = BankOptions.model_validate({"method": method})
    size = len(changes) if method in TOGETHER else 1
    results = [
        result
        for start in range(0, len(changes), size)
        for result in memory.build(changes[start : start + size], options)
    ]
    return [result for result in results if isinstance(result, Material)]


def _bystanders(items: Sequence[Item], targets: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Return facts that are not edited: of an edited relation, of an edited subject, and of any other subject."""
    relations = {items[index].relation.id for index in targets}
    subjects = {items[index].subject.id for index in targets}
    rest = sorted(set(range(len(items))) - set(targets))
    far = [i for i in rest if items[i].subject.id not in subjects]
    near = [i for i in far if items[i].relation.id in relations]
    same = [i for i in rest if items[i].subject.id in subjects]
    return near, same, far


def _in_order(materials: Sequence[Material]) -> list[Material]:
    return [replace(m, block=replace(m.block, order=place)) for place, m in enumerate(materials, 1)]


def _sample(group: list[int], rng: random.Random) -> list[int]:
    return rng.sample(group, min(MOST_ASKED, len(group)))


def _other_answer(items: Sequence[Item], index: int, rng: random.Random) -> str:
    relation, answer = items[index].relation.id, items[index].answer
    return rng.choice(sorted({i.answer for i in items if i.relation.id == relation and i.answer != answer}))


def _ask(item: Item, phrasing: int) -> str:
    return item.relation.question(item.subject.label, phrasing)


def _held_question(item: Item, rng: random.Random) -> str:
    return rng.choice(item.relation.held_out).replace("{subject}", item.subject.label)


def _replies(system: System, views: Views, questions: Sequence[str]) -> list[Reply]:
    replies: list[Reply] = []
    for start in range(0, len(questions), BATCH):
        asks = [Ask(question) for question in questions[start : start + BATCH]]
        replies += system.answer(asks, [views] * len(asks))
    return replies


def _hits(system: System, views: Views, pairs: Sequence[tuple[str, str]]) -> int:
    replies = _replies(system, views, [question for question, _ in pairs])
    return sum(reply.answer == expected for reply, (_, expected) in zip(replies, pairs, strict=True))


def _count_unchanged(system: System, before: Views, after: Views, questions: Sequence[str]) -> Share:
    old, new = _replies(system, before, questions), _replies(system, after, questions)
    return Share(sum(b.best == a.best for b, a in zip(old, new, strict=True)), len(questions))
