"""The effect of edits of facts in the finished checkpoint: in the given wordings, in others, and on neighbours.

`try_edits` measures the stored rows alone, to show how far they reach: the system adds what a routed question lacks
(models/backpack/editing/rows.py). `python -m models.training.backpack.edits` measures the system: edits one at a
time, and all of them together.
"""

import random
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from models.backpack.answering.reader import DEFAULT as CHECKPOINT
from models.backpack.answering.reader import Reader
from models.backpack.editing.fact import read_rows
from models.backpack.editing.rows import FactRows, TextEdits, read_forced
from models.backpack.memory import SENSES, SensesMemory, SensesView
from models.backpack.system import BackpackSystem
from models.memory import AnswerChange, Material, Options
from models.packs.pack import Pack
from models.system import Ask, Reply
from models.training.backpack.card import add_figures
from models.training.backpack.plan import DEFAULT
from models.training.backpack.texts import Correction, Split, Texts
from models.training.kit.card import percent
from models.training.kit.command import describe_command, read_command

N_EDITS = 500
NEAR_SPLITS: tuple[Split, ...] = ("trained", "held")  # phrasings of the two neighbours of an edit
BATCH = 32  # questions in a forward pass


def try_edits(reader: Reader, corrections: Sequence[Correction]) -> dict[str, float]:
    """Make each correction separately, and return shares in per cent, and milliseconds for an edit."""
    memory, start = SensesMemory(reader), time.monotonic()
    results = [
        memory.build([AnswerChange("trial", c.wordings[0], c.answer, c.wordings[1:])], Options())[0]
        for c in corrections
    ]
    seconds = time.monotonic() - start
    holds: list[bool] = []
    reaches: list[bool] = []
    for correction, result in zip(corrections, results, strict=True):
        for wordings, marks in ((correction.wordings, holds), (correction.new_wordings, reaches)):
            if isinstance(result, Material):
                answer, rows = read_rows(result.block, reader.model.embedding.device)
                marks += [says(reader, wording, answer, rows) for wording in wordings]
            else:
                marks += [False] * len(wordings)
    return {
        "edits_hold": percent(holds),
        "edits_reach": percent(reaches),
        "edit_ms": round(1000 * seconds / max(1, len(corrections))),
    }


@torch.inference_mode()
def says(reader: Reader, question: str, answer: Sequence[int], rows: FactRows) -> bool:
    """Return whether a question is answered with this text under these rows: each token leads after those before it."""
    prompt, _ = reader.ask(question, len(answer))
    reading = read_forced(reader.model, prompt, answer, TextEdits(rows=rows))
    return bool((reading.leads(answer) > 0).all())


@dataclass(frozen=True)
class FactEdit:
    """A fact with another answer of its relation, and the questions around it.

    Attributes:
        change: The edit, with one wording.
        paraphrase: A question for the fact in a held phrasing of the pack.
        new_paraphrase: A question for the fact in the words of the third writer.
        neighbours: Questions about the same relation of other subjects, which no edit is about.
    """

    change: AnswerChange
    paraphrase: str
    new_paraphrase: str
    neighbours: tuple[str, ...]


def draw_fact_edits(texts: Texts, count: int, seed: int) -> list[FactEdit]:
    """Draw edits of facts, at most `count`; a neighbour is asked for in a trained and in a held phrasing."""
    rng = random.Random(f"{seed} fact edits")
    items = texts.items
    places = rng.sample(range(len(items)), min(count, len(items)))
    edited_subjects = {items[place].subject.id for place in places}
    by_relation: dict[str, list[int]] = defaultdict(list)
    for place, item in enumerate(items):
        by_relation[item.relation.id].append(place)

    def ask(place: int, split: Split) -> str:
        return rng.choice(texts.ways(place, split)).replace("{subject}", items[place].subject.label)

    edits = []
    for number, place in enumerate(places):
        item, same = items[place], by_relation[items[place].relation.id]
        answers = sorted({items[other].answer for other in same} - {item.answer})
        free = [other for other in same if items[other].subject.id not in edited_subjects]
        near = rng.sample(free, min(len(NEAR_SPLITS), len(free)))
        change = AnswerChange(
            f"{number:04d}", item.relation.question(item.subject.label, 0), rng.choice(answers)
        )
        neighbours = tuple(ask(other, split) for other, split in zip(near, NEAR_SPLITS, strict=False))
        edits.append(FactEdit(change, ask(place, "held"), ask(place, "test"), neighbours))
    return edits


def measure_fact_edits(
    system: BackpackSystem, memory: SensesMemory, edits: Sequence[FactEdit]
) -> dict[str, float]:
    """Make each edit separately, then all of them together, and ask around them; return shares in per cent.

    A withheld answer and a refused edit count as wrong; the answer about a neighbour must not change by a letter.
    """
    results = [memory.build([edit.change], Options())[0] for edit in edits]
    materials = [result for result in results if isinstance(result, Material)]
    blank = memory.view(memory.base)
    materials_in_order = [
        replace(material, block=replace(material.block, order=place))
        for place, material in enumerate(materials, 1)
    ]
    together = memory.view(memory.fold(materials_in_order))
    alone = {material.edit: memory.view(memory.fold([material])) for material in materials_in_order}
    figures: dict[str, float] = {}
    for name in ("single", "sequential"):
        views = [together if name == "sequential" else alone.get(edit.change.id, blank) for edit in edits]
        figures |= {
            f"{name}_{figure}": share for figure, share in _ask_around(system, edits, views, blank).items()
        }
    return figures


def _ask_around(
    system: BackpackSystem, edits: Sequence[FactEdit], views: Sequence[SensesView], blank: SensesView
) -> dict[str, float]:
    """Return shares in per cent; `views[i]` is what the questions around `edits[i]` read."""

    def hits(questions: Sequence[str]) -> float:
        replies = _put(system, list(zip(questions, views, strict=True)))
        return percent(
            [reply.answer == edit.change.answer for reply, edit in zip(replies, edits, strict=True)]
        )

    near = [(question, view) for edit, view in zip(edits, views, strict=True) for question in edit.neighbours]
    before = _put(system, [(question, blank) for question, _ in near])
    after = _put(system, near)
    return {
        "reliability": hits([edit.change.question for edit in edits]),
        "generalisation": hits([edit.paraphrase for edit in edits]),
        "generalisation_writer": hits([edit.new_paraphrase for edit in edits]),
        "locality": percent([old.best == new.best for old, new in zip(before, after, strict=True)]),
    }


def _put(system: BackpackSystem, pairs: Sequence[tuple[str, SensesView]]) -> list[Reply]:
    replies: list[Reply] = []
    for start in range(0, len(pairs), BATCH):
        part = pairs[start : start + BATCH]
        replies += system.answer(
            [Ask(question) for question, _ in part], [{SENSES: view} for _, view in part]
        )
    return replies


def main() -> None:
    """Measure edits of facts in a checkpoint, and add the figures to its card."""
    arguments, say = read_command(describe_command("backpack", CHECKPOINT, CHECKPOINT, threads=1))
    texts = Texts(Pack.load(arguments.pack), DEFAULT.texts, DEFAULT.seed)
    reader = Reader.load(arguments.out)
    edits = draw_fact_edits(texts, N_EDITS, DEFAULT.seed)
    figures = measure_fact_edits(BackpackSystem(reader), SensesMemory(reader), edits)
    for name, figure in figures.items():
        say(f"{name}: {figure}")
    add_figures(arguments.out, "backpack", figures)


if __name__ == "__main__":
    main()
