"""The effect of an edit of one triple on answers two facts away: dependent ones have to follow, others to stay.

The questions are about the facts of the pack. Each gets a separate edit of a triple of its first or its second hop:
the subject gets one new value in place of all its values. `python -m models.training.relational.edits` measures the
default checkpoint.
"""

import argparse
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import torch

from models.graph.knowledge import Entity, Fact
from models.graph.memory import GraphMemory, TripleChange
from models.graph.statement import Statement
from models.graph.view import GraphView
from models.memory import Material, Options
from models.packs.pack import WORLD
from models.relational.answer import Answerer
from models.relational.checkpoint import DEFAULT as CHECKPOINT
from models.relational.checkpoint import load
from models.relational.neighbours import EntityNeighbours
from models.training.relational.exam import Outcome, put
from models.training.relational.examples import Example
from models.training.relational.pack import PackQuestions
from models.training.relational.plan import DEFAULT
from models.training.relational.prepare import prepare

HOPS = 2
N_QUESTIONS = 200
MAX_QUESTIONS_DRAWN = 20  # questions that are drawn for each one that can be edited


@dataclass(frozen=True)
class Edit:
    """A triple that is written in place of another.

    Attributes:
        subject: Id of the entity that is edited.
        hop: Hop of the question that the triple belongs to: 0 or 1.
        fact: Its new value.
    """

    subject: str
    hop: int
    fact: Fact

    @property
    def change(self) -> TripleChange:
        """Return the edit as the graph takes it."""
        fact = self.fact
        return TripleChange(
            "e", {self.subject: (Statement(fact.relation, fact.object, fact.object_id, "set"),)}
        )


@dataclass(frozen=True)
class EditFigures:
    """Measures of edits; shares in per cent.

    Attributes:
        n: Number of edits, with a dependent and an independent question each.
        n_right: Dependent questions that were right before the edit.
        follows: Share of `n_right` that have the new answer after it.
        right: Share of all dependent questions that have the new answer after it.
        follows_first: `follows` of the edits of the first hop.
        follows_second: `follows` of the edits of the second hop.
        n_given: Independent questions that had an answer before the edit.
        n_near: Independent questions, of those with an answer, whose sub-graph has the edited entity.
        stays: Share of `n_given` whose answer is the same after it.
        stays_near: Share of `n_near` whose answer is the same after it.
    """

    n: int
    n_right: int
    follows: float
    right: float
    follows_first: float
    follows_second: float
    n_given: int
    n_near: int
    stays: float
    stays_near: float


@dataclass(frozen=True)
class EditedGraph:
    """The graph of a pack, and edits that are tried on it.

    Attributes:
        view: The graph before any edit.
    """

    view: GraphView

    @cached_property
    def memory(self) -> GraphMemory:
        """Return a separate memory, so that nothing is edited elsewhere."""
        return GraphMemory(self.view.base)

    @cached_property
    def values(self) -> Mapping[str, Sequence[Fact]]:
        """Return the facts of each relation, one for each value."""
        entities = (self.view.entity(id) for id in sorted(self.view.base.statements))
        values: dict[str, dict[tuple[str, str], Fact]] = {}
        for entity in entities:
            for fact in entity.facts if entity else ():
                values.setdefault(fact.relation, {})[fact.object_id, fact.object] = fact
        return {relation: tuple(facts.values()) for relation, facts in values.items()}

    def after(self, edit: Edit) -> GraphView:
        """Return the graph with one edit."""
        materials = self.memory.build([edit.change], Options())
        return self.memory.view(self.memory.fold([m for m in materials if isinstance(m, Material)]))

    def draw_edit(self, example: Example, rng: random.Random) -> Edit | None:
        """Draw an edit that changes the answer to a question; None if its path takes no other value."""
        hop = rng.randrange(HOPS)
        subject = rng.choice(sorted({id for id, _ in walk(self.view, example)[hop]}))
        values = list(self.values[example.path[hop]])
        rng.shuffle(values)
        for fact in values:
            edit = Edit(subject, hop, fact)
            if expected(self.after(edit), example) not in ("", example.expected):
                return edit
        return None


def walk(view: GraphView, example: Example) -> list[list[tuple[str, Fact]]]:
    """Return the facts of each hop of the path that a question asks for, with the ids of their subjects."""
    hops: list[list[tuple[str, Fact]]] = []
    ids = [example.ask.mentions[example.start].entities[0].id]
    for relation in example.path:
        entities = [entity for id in ids if (entity := view.entity(id)) is not None]
        hops.append([(e.id, fact) for e in entities for fact in e.facts if fact.relation == relation])
        ids = list(dict.fromkeys(fact.object_id for _, fact in hops[-1] if fact.object_id))
    return hops


def expected(view: GraphView, example: Example) -> str:
    """Return the right answer at a version; "" if a fact is missing."""
    return ", ".join(sorted({fact.object for _, fact in walk(view, example)[-1]}))


def at_version(example: Example, view: GraphView, questions: PackQuestions) -> Example:
    """Return a question as it is asked at another version: its entities, those around them, and its right answer."""
    mentions = tuple(
        replace(mention, entities=tuple(_look_up(view, entity) for entity in mention.entities))
        for mention in example.ask.mentions
    )
    ids = [entity.id for mention in mentions for entity in mention.entities]
    source = EntityNeighbours.of_view(view)
    entities = source.neighbours(ids, HOPS + 1, questions.fan_out, questions.max_entities, questions.fan_in)
    ask = replace(example.ask, mentions=mentions)
    return replace(example, ask=ask, entities=entities, expected=expected(view, example))


def _look_up(view: GraphView, entity: Entity) -> Entity:
    return view.entity(entity.id) or Entity(entity.id, entity.label)


def measure_edits(
    answerer: Answerer, questions: PackQuestions, n_questions: int = N_QUESTIONS, seed: int = DEFAULT.seed
) -> EditFigures:
    """Edit one triple of each question and ask it, and another one, before and after.

    Args:
        answerer: The reader.
        questions: Draws questions about a graph without edits.
        n_questions: Number of edits.
        seed: Seed of questions and edits.

    Raises:
        ValueError: The graph has no such questions, or no other values for them.
    """
    rng = random.Random(f"{seed}/edits")
    graph = EditedGraph(questions.view)
    examples, edits = draw_edits(graph, questions, n_questions, rng)
    views = [graph.after(edit) for edit in edits]
    independent = [
        draw_independent(examples, edit, view, rng) for edit, view in zip(edits, views, strict=True)
    ]
    before = put(answerer, examples)
    later = [at_version(e, view, questions) for e, view in zip(examples, views, strict=True)]
    after = put(answerer, later)
    still = put(
        answerer,
        [at_version(examples[o], view, questions) for o, view in zip(independent, views, strict=True)],
    )
    return count(edits, before, after, [before[other] for other in independent], still)


def draw_edits(
    graph: EditedGraph, questions: PackQuestions, n_questions: int, rng: random.Random
) -> tuple[list[Example], list[Edit]]:
    """Draw questions, each with an edit that changes its answer.

    Raises:
        ValueError: Too few questions can be edited.
    """
    examples, edits = list[Example](), list[Edit]()
    for _ in range(MAX_QUESTIONS_DRAWN * n_questions):
        example = questions.draw(HOPS, False, rng)
        edit = graph.draw_edit(example, rng)
        if edit is not None:
            examples.append(example)
            edits.append(edit)
        if len(edits) == n_questions:
            return examples, edits
    raise ValueError(f"only {len(edits)} of {n_questions} questions have a triple with another value")


def draw_independent(examples: Sequence[Example], edit: Edit, view: GraphView, rng: random.Random) -> int:
    """Draw a question whose right answer an edit does not change, if possible near the edited entity.

    Returns:
        Its place among the examples.

    Raises:
        ValueError: The edit changes all answers.
    """
    places = rng.sample(range(len(examples)), len(examples))
    places.sort(key=lambda place: edit.subject not in examples[place].entities)
    for place in places:
        if expected(view, examples[place]) == examples[place].expected:
            return place
    raise ValueError("no question is independent of the edit: draw more questions")


def count(
    edits: Sequence[Edit],
    before: Sequence[Outcome],
    after: Sequence[Outcome],
    independent_before: Sequence[Outcome],
    independent_after: Sequence[Outcome],
) -> EditFigures:
    """Count the answers that follow their edits, and those that stay. All sequences are in the order of the edits."""
    follows = [
        (edit.hop, later.is_right)
        for edit, earlier, later in zip(edits, before, after, strict=True)
        if earlier.is_right
    ]
    stays = [
        (edit.subject in earlier.example.entities, earlier.reply.answer == later.reply.answer)
        for edit, earlier, later in zip(edits, independent_before, independent_after, strict=True)
        if earlier.reply.answer is not None
    ]
    near = [is_same for is_near, is_same in stays if is_near]
    return EditFigures(
        n=len(edits),
        n_right=len(follows),
        follows=_percent([is_right for _, is_right in follows]),
        right=_percent([outcome.is_right for outcome in after]),
        follows_first=_percent([is_right for hop, is_right in follows if hop == 0]),
        follows_second=_percent([is_right for hop, is_right in follows if hop == 1]),
        n_given=len(stays),
        n_near=len(near),
        stays=_percent([is_same for _, is_same in stays]),
        stays_near=_percent(near),
    )


def _percent(marks: Sequence[bool]) -> float:
    return round(100 * sum(marks) / max(1, len(marks)), 1)


def main() -> None:
    """Measure a checkpoint."""
    parser = argparse.ArgumentParser(description="Measure what edits of triples do to two-hop answers.")
    parser.add_argument("--pack", type=Path, default=WORLD)
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    parser.add_argument("--questions", type=int, default=N_QUESTIONS, help="each with an edit of its own")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    start = time.monotonic()
    model = load(arguments.checkpoint)
    setup = prepare(replace(DEFAULT, config=model.config), arguments.pack, model.reader, print)
    answerer = Answerer(model)
    for name, value in asdict(measure_edits(answerer, setup.pack, arguments.questions)).items():
        print(f"{name}: {value}")
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
