"""The exam of a checkpoint: groups of questions to the system as it is served, and edits of its memories.

An answer is right if it is the expected one to the letter, or if it is rightly withheld. The best answer counts
whether it was given or not; a question without an answer has none. All shares are in per cent.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from more_itertools import chunked

from models.confidence import calibration_error
from models.graph.memory import GRAPH
from models.memory import Material, Memory, Options, Views
from models.system import Ask, Reply, System
from models.training.kit.card import percent

BATCH = 32
SURE = 1.96  # standard deviations that 95 % of a normal distribution lie within
Figures = dict[str, float]


@dataclass(frozen=True)
class Question:
    """A question with its answer; None if it should be declined."""

    ask: Ask
    expected: str | None


@dataclass(frozen=True)
class Outcome:
    """A question and the reply to it."""

    question: Question
    reply: Reply

    @property
    def is_right(self) -> bool:
        """Return whether the answer is the expected one, or is rightly withheld."""
        return self.reply.answer == self.question.expected

    @property
    def is_best_right(self) -> bool:
        """Return whether the best answer is right, whatever the threshold says."""
        return self.reply.best == self.question.expected


def put(
    system: System, questions: Sequence[Question], views: Views | Sequence[Views], size: int = BATCH
) -> list[Outcome]:
    """Ask questions in their order; `views` are those of all questions, or of each."""
    of_each = [views] * len(questions) if isinstance(views, Mapping) else views
    outcomes: list[Outcome] = []
    for part, part_views in zip(chunked(questions, size), chunked(of_each, size), strict=True):
        asks = [_link(question.ask, view) for question, view in zip(part, part_views, strict=True)]
        outcomes += map(Outcome, part, system.answer(asks, part_views))
    return outcomes


def _link(ask: Ask, views: Views) -> Ask:
    """Return a question whose mentions say what the graph of its version says of them, as the service links it."""
    if GRAPH not in views:
        return ask
    find = views[GRAPH].entity
    mentions = (
        replace(mention, entities=tuple(find(entity.id) or entity for entity in mention.entities))
        for mention in ask.mentions
    )
    return replace(ask, mentions=tuple(mentions))


def count(outcomes: Sequence[Outcome]) -> Figures:
    """Count a group; the interval is half the width of Wilson's for the share of right answers, at 95 %."""
    scores = [outcome.reply.score for outcome in outcomes]
    return {
        "n": len(outcomes),
        "right": percent(outcome.is_right for outcome in outcomes),
        "wrong": percent(o.reply.answer is not None and not o.is_right for o in outcomes),
        "declined": percent(outcome.reply.answer is None for outcome in outcomes),
        "best": percent(outcome.is_best_right for outcome in outcomes),
        "calibration_error": round(calibration_error(scores, [o.is_best_right for o in outcomes]), 1),
        "interval": round(100 * _interval(sum(o.is_right for o in outcomes), len(outcomes)), 1),
    }


def examine(
    system: System,
    groups: Mapping[str, Sequence[Question]],
    views: Views,
    say: Callable[[str], None],
    size: int = BATCH,
) -> dict[str, Figures]:
    """Ask the questions of each group, and say and return their figures."""
    figures = {}
    for name, questions in groups.items():
        figures[name] = count(put(system, questions, views, size))
        say(f"{name}: {figures[name]}")
    return figures


def _interval(n_right: int, n: int) -> float:
    if not n:
        return 0.0
    share = n_right / n
    return SURE * math.sqrt(share * (1 - share) / n + (SURE / (2 * n)) ** 2) / (1 + SURE**2 / n)


@dataclass(frozen=True)
class Case:
    """A change of a memory, with questions that have the new answer afterwards, and others whose answer stays."""

    change: Any
    reach: Mapping[str, Sequence[Question]]
    stay: Mapping[str, Sequence[Ask]]


def measure_edits(
    system: System,
    memory: Memory,
    cases: Sequence[Case],
    views: Views,
    options: Options | None = None,
    alone: bool = False,
    size: int = 1,
) -> Figures:
    """Make the change of each case, and ask around them; a refused edit and a withheld answer are failures of reach.

    A question is asked under all edits, or `alone` under that of its case. `views` are those without an edit, and
    `size` changes are built in one call.
    """
    start = time.perf_counter()
    results = list[Any]()
    for changes in chunked([case.change for case in cases], size):
        results += memory.build(changes, options or memory.options())
    milliseconds = 1e3 * (time.perf_counter() - start) / len(cases)
    materials = {
        place: replace(result, block=replace(result.block, order=place + 1))
        for place, result in enumerate(results)
        if isinstance(result, Material)
    }
    whole = memory.view(memory.fold(list(materials.values())))
    after: list[Views] = [{**views, memory.name: whole}] * len(cases)
    if alone:
        images = [
            memory.fold([materials[place]] if place in materials else []) for place in range(len(cases))
        ]
        after = [{**views, memory.name: memory.view(image)} for image in images]
    figures: Figures = {"n": len(cases), "refused": len(cases) - len(materials)}
    for kind in dict.fromkeys(kind for case in cases for kind in case.reach):
        places, questions = _flatten([case.reach.get(kind, ()) for case in cases])
        outcomes = put(system, questions, [after[place] for place in places])
        marks = zip(places, outcomes, strict=True)
        figures[kind] = percent(place in materials and outcome.is_right for place, outcome in marks)
    for kind in dict.fromkeys(kind for case in cases for kind in case.stay):
        places, asks = _flatten([case.stay.get(kind, ()) for case in cases])
        same = [Question(ask, None) for ask in asks]
        new = put(system, same, [after[place] for place in places])
        old = put(system, same, views)
        figures[kind] = percent(a.reply.best == b.reply.best for a, b in zip(old, new, strict=True))
        figures[f"n_{kind}"] = len(same)
    return figures | {"milliseconds": round(milliseconds)}


def _flatten(parts: Sequence[Sequence[Any]]) -> tuple[list[int], list[Any]]:
    """Return the entries of all parts, and the place of the part of each."""
    return [n for n, part in enumerate(parts) for _ in part], [entry for part in parts for entry in part]
