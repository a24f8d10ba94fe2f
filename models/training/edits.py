"""How far an edit reaches and what it leaves alone, on facts whose questions the gates were not trained on.

Definitions: all edits are active at once; a new answer is another answer of the same relation; one phrasing is given;
exact match of free generation. generalisation: held phrasings. locality: answers that stay what they were.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from models.nkb.system import NkbSystem, NkbView
from models.packs.pack import Item
from models.system import Ask, Correction, Material

BATCH = 64


@dataclass(frozen=True)
class EditFigures:
    """Per cent; counts in brackets of the card."""

    edits: int
    reliability: float
    generalisation: float
    neighbours: float
    same_subject: float
    random: float
    milliseconds: float


def measure(
    system: NkbSystem, items: Sequence[Item], edited: Sequence[int], method: str, seed: int
) -> EditFigures:
    """Make one edit for each of `edited` (indices into items), all active, and ask around them."""
    rng = random.Random(seed)
    wanted = {index: _other_answer(items, index, rng) for index in edited}
    corrections = [Correction(str(index), _ask(items[index], 0), answer) for index, answer in wanted.items()]
    started = time.perf_counter()
    materials = system.edit(corrections, method)
    taken = time.perf_counter() - started
    base, view = system.view(system.base), system.view(system.fold(_in_order(materials)))
    relations = {items[index].relation.id for index in edited}
    subjects = {items[index].subject.id for index in edited}
    others = [index for index in range(len(items)) if index not in wanted]
    near = [i for i in others if items[i].relation.id in relations and items[i].subject.id not in subjects]
    same = [i for i in others if items[i].subject.id in subjects]
    far = [i for i in others if items[i].subject.id not in subjects]
    kept = [
        _kept(system, base, view, [_held(items[i], rng) for i in _some(g, rng)]) for g in (near, same, far)
    ]
    return EditFigures(
        edits=len(wanted),
        reliability=_hits(system, view, [(_ask(items[i], 0), answer) for i, answer in wanted.items()]),
        generalisation=_hits(system, view, [(_held(items[i], rng), answer) for i, answer in wanted.items()]),
        neighbours=kept[0],
        same_subject=kept[1],
        random=kept[2],
        milliseconds=1e3 * taken / len(wanted),
    )


def _in_order(materials: Sequence[Material]) -> list[Material]:
    return [replace(m, block=replace(m.block, order=place)) for place, m in enumerate(materials, 1)]


def _some(group: list[int], rng: random.Random) -> list[int]:
    return rng.sample(group, min(1000, len(group)))


def _other_answer(items: Sequence[Item], index: int, rng: random.Random) -> str:
    relation, answer = items[index].relation.id, items[index].answer
    return rng.choice(sorted({i.answer for i in items if i.relation.id == relation and i.answer != answer}))


def _ask(item: Item, phrasing: int) -> str:
    return item.relation.question(item.subject.label, phrasing)


def _held(item: Item, rng: random.Random) -> str:
    return rng.choice(item.relation.held).replace("{subject}", item.subject.label)


def _said(system: NkbSystem, view: NkbView, questions: Sequence[str]) -> list[str]:
    said: list[str] = []
    for start in range(0, len(questions), BATCH):
        some = [Ask(question) for question in questions[start : start + BATCH]]
        said += [reply.best for reply in system.answer(some, [view] * len(some))]
    return said


def _hits(system: NkbSystem, view: NkbView, pairs: Sequence[tuple[str, str]]) -> float:
    said = _said(system, view, [question for question, _ in pairs])
    return 100 * sum(s == answer for s, (_, answer) in zip(said, pairs, strict=True)) / len(pairs)


def _kept(system: NkbSystem, base: NkbView, view: NkbView, questions: Sequence[str]) -> float:
    before, after = _said(system, base, questions), _said(system, view, questions)
    return 100 * sum(b == a for b, a in zip(before, after, strict=True)) / max(1, len(questions))
