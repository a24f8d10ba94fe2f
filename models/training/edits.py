"""How far an edit reaches and what it leaves alone, on facts whose questions the gates were not trained on.

Definitions: all edits are active at once; a new answer is another answer of the same relation; one phrasing is given;
exact match of free generation. reliability: the phrasing given. generalisation: held phrasings. Both ask for what is
answered: a withheld answer is no hit, nor is a fact that the method refuses. locality: what would be said, withheld or
not, stays what it was.
"""

import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from models.nkb.memory import BANK, BankMemory, BankOptions
from models.packs.pack import Item
from models.memory import AnswerChange, EditRefused, Material, View
from models.system import Ask, Reply
from models.training.states import BATCH

MOST_ASKED = 1000  # questions of each kind of bystander
TOGETHER = {
    "gated"
}  # methods that make all edits in one call; others one by one, for they refuse single facts


@dataclass(frozen=True)
class Share:
    """How many of the questions asked came out as wanted."""

    right: int
    asked: int

    def __str__(self) -> str:
        return f"{100 * self.right / self.asked:.1f} ({self.asked:,})" if self.asked else "none asked"


@dataclass(frozen=True)
class EditFigures:
    """refused: edits, of all, that the method would not make. milliseconds: for each edit asked for."""

    edits: int
    refused: int
    reliability: Share
    generalisation: Share
    neighbours: Share
    same_subject: Share
    random: Share
    milliseconds: float


def measure(
    loaded: Loaded, items: Sequence[Item], edited: Sequence[int], method: str, seed: int
) -> EditFigures:
    """Make one edit for each of `edited` (indices into items), all active, and ask around them."""
    rng = random.Random(seed)
    wanted = {index: _other_answer(items, index, rng) for index in edited}
    corrections = [
        AnswerChange(str(index), _ask(items[index], 0), answer) for index, answer in wanted.items()
    ]
    started = time.perf_counter()
    system, memory = loaded.system, loaded.memories[0]
    materials = make(memory, corrections, method)
    taken = time.perf_counter() - started
    base = {BANK: memory.view(memory.base)}
    view = {BANK: memory.view(memory.fold(_in_order(materials)))}
    near, same, far = (
        _kept(system, base, view, [_held(items[i], rng) for i in _some(group, rng)])
        for group in _bystanders(items, edited)
    )
    made = {int(material.edit) for material in materials}
    given = {i: (_ask(items[i], 0), answer) for i, answer in wanted.items()}
    held = {i: (_held(items[i], rng), answer) for i, answer in wanted.items()}
    return EditFigures(
        edits=len(wanted),
        refused=len(wanted) - len(made),
        reliability=Share(_hits(system, view, [given[i] for i in wanted if i in made]), len(wanted)),
        generalisation=Share(_hits(system, view, [held[i] for i in wanted if i in made]), len(wanted)),
        neighbours=near,
        same_subject=same,
        random=far,
        milliseconds=1e3 * taken / len(wanted),
    )


def make(memory: Memory, corrections: Sequence[AnswerChange], method: str) -> list[Material]:
    """The edits that the method makes, without those that it refuses."""
    if method in TOGETHER:
        built = memory.build(corrections, BankOptions(method=method))
    else:
        built = [memory.build([correction], BankOptions(method=method))[0] for correction in corrections]
    return [material for material in built if isinstance(material, Material)]


def _bystanders(items: Sequence[Item], edited: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Facts that are not edited: of an edited relation; of an edited subject; of any other subject."""
    relations = {items[index].relation.id for index in edited}
    subjects = {items[index].subject.id for index in edited}
    others = sorted(set(range(len(items))) - set(edited))
    far = [i for i in others if items[i].subject.id not in subjects]
    near = [i for i in far if items[i].relation.id in relations]
    same = [i for i in others if items[i].subject.id in subjects]
    return near, same, far


def _in_order(materials: Sequence[Material]) -> list[Material]:
    return [replace(m, block=replace(m.block, order=place)) for place, m in enumerate(materials, 1)]


def _some(group: list[int], rng: random.Random) -> list[int]:
    return rng.sample(group, min(MOST_ASKED, len(group)))


def _other_answer(items: Sequence[Item], index: int, rng: random.Random) -> str:
    relation, answer = items[index].relation.id, items[index].answer
    return rng.choice(sorted({i.answer for i in items if i.relation.id == relation and i.answer != answer}))


def _ask(item: Item, phrasing: int) -> str:
    return item.relation.question(item.subject.label, phrasing)


def _held(item: Item, rng: random.Random) -> str:
    return rng.choice(item.relation.held).replace("{subject}", item.subject.label)


def _replies(system: System, view: View, questions: Sequence[str]) -> list[Reply]:
    replies: list[Reply] = []
    for start in range(0, len(questions), BATCH):
        some = [Ask(question) for question in questions[start : start + BATCH]]
        replies += system.answer(some, [view] * len(some))
    return replies


def _hits(system: System, view: View, pairs: Sequence[tuple[str, str]]) -> int:
    replies = _replies(system, view, [question for question, _ in pairs])
    return sum(reply.answer == expected for reply, (_, expected) in zip(replies, pairs, strict=True))


def _kept(system: System, base: View, view: View, questions: Sequence[str]) -> Share:
    before, after = (_replies(system, one, questions) for one in (base, view))
    return Share(sum(b.best == a.best for b, a in zip(before, after, strict=True)), len(questions))
