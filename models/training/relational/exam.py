"""The exam of a trained reader, and the confidence of its answers.

Every group is asked in the words of the third writer, which training has not read, about hops, compositions and
relations that it never saw. An answer is right if it is the expected one to the letter; a right answer is faithful if
its path is the one that the question asks for. The confidence is fitted on relations for practice that no weight was
trained on.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from more_itertools import chunked

from models.confidence import Confidence
from models.graph.knowledge import Fact
from models.graph.view import GraphView
from models.relational.answer import Answerer, Reading, Sources
from models.relational.checkpoint import Model
from models.relational.network import Config, RelationalNetwork
from models.relational.question import TextReader
from models.relational.subgraph import EntityNeighbours
from models.relational.system import RelationalSystem
from models.training.kit.card import percent
from models.training.kit.exam import BATCH, Figures, Question, count, put
from models.training.kit.plan import Plan
from models.training.kit.scale import fit_scale
from models.training.relational.compositions import MAX_DRAWS, Compositions, Path, is_inverse
from models.training.relational.examples import Example, ExampleMaker
from models.training.relational.wordings import ENTITIES, Wordings
from models.training.texts.phrasings import SLOT, fill
from models.training.texts.relations import RelationText

NO_SCALE = Confidence((1.0, 1.0, 0.0), 0.0, 0.0)  # path, start and form (models/relational/answer.py)


@dataclass(frozen=True)
class PackQuestions:
    """Draws paths from a graph."""

    view: GraphView  # the graph
    compositions: Compositions  # relations that may be asked for, and sequences that training never sees
    wordings: Wordings  # wordings of the questions
    config: Config  # the bounds of a reader's sub-graph

    @cached_property
    def _ids(self) -> Sequence[str]:
        entities = (self.view.entity(id) for id in sorted(self.view.base.statements))
        return [entity.id for entity in entities if entity is not None and entity.facts]

    def draw(self, n_hops: int, is_held: bool, rng: random.Random) -> Example:
        """Draw a question about a path that the graph has.

        Raises:
            ValueError: The graph has no such path.
        """
        for _ in range(MAX_DRAWS):
            start = rng.choice(self._ids)
            path, ends = self._walk(start, n_hops, rng)
            ids = [relation.id for relation in path]
            if len(path) == n_hops and (n_hops == 1 or self.compositions.is_held(ids) == is_held):
                return self._ask(start, path, ends, rng)
        raise ValueError(f"the graph has no path of {n_hops} hops to ask for")

    def _walk(self, start: str, n_hops: int, rng: random.Random) -> tuple[list[RelationText], list[Fact]]:
        """Follow random relations; each starts at all entities that the previous one reached."""
        path: list[RelationText] = []
        ids, ends = [start], list[Fact]()
        for _ in range(n_hops):
            entities = [entity for id in ids if (entity := self.view.entity(id)) is not None]
            facts = [fact for entity in entities for fact in entity.facts]
            choices = sorted({f.relation for f in facts if f.relation in self.compositions.relations})
            if not choices:
                break
            path.append(self.compositions.relations[rng.choice(choices)])
            ends = [fact for fact in facts if fact.relation == path[-1].id]
            ids = list(dict.fromkeys(fact.object_id for fact in ends if fact.object_id))
        return path, ends

    def _ask(
        self, start: str, path: Sequence[RelationText], ends: Sequence[Fact], rng: random.Random
    ) -> Example:
        source, config = EntityNeighbours.of_view(self.view), self.config
        entities = source.neighbours([start], len(path) + 1, config.fan_out, config.max_nodes, config.fan_in)
        ask = fill(self.wordings.draw(path, ENTITIES, rng), {SLOT: entities[start]})
        expected = ", ".join(sorted({fact.object for fact in ends}))
        ids, labels = tuple(r.id for r in path), tuple(r.labels[0] for r in path)
        return Example(ask, entities, ids, labels, 0, ENTITIES, expected, ())


def measure_group(system: RelationalSystem, examples: Sequence[Example]) -> Figures:
    """Ask the questions of a group, each to its own graph; `faithful` counts right answers on the right path."""
    questions = [
        Question(replace(e.ask, neighbours=tuple(e.entities.values()), explain=True), e.expected)
        for e in examples
    ]
    outcomes = put(system, questions, {})
    faithful = (
        tuple(step["label"] for step in (outcome.reply.explanation or {})["path"]) == example.labels
        for outcome, example in zip(outcomes, examples, strict=True)
        if outcome.is_right and outcome.reply.answer is not None
    )
    return {**count(outcomes), "faithful": percent(faithful)}


def draw_groups(
    plan: Plan, makers: Mapping[str, ExampleMaker], pack: PackQuestions
) -> Mapping[str, list[Example]]:
    """Draw the questions of the exam: about trained relations, new ones, facts of the pack, and subjects."""
    maker, new_relations = makers["test"], makers["new"]
    examples: dict[str, list[Example]] = {}
    for hops in range(1, plan.config.hops + 1):
        examples[f"{hops} hops"] = _draw(plan, maker, hops, False, False)
        examples[f"{hops} hops, unanswerable"] = _draw(plan, maker, hops, False, True)
        if hops > 1:
            examples[f"{hops} hops, new composition"] = _draw(plan, maker, hops, True, False)
        rng = random.Random(f"{plan.seed}/exam/pack/{hops}")
        examples[f"{hops} hops, facts of the pack"] = [
            pack.draw(hops, False, rng) for _ in range(plan.n_exam)
        ]
    examples["1 hops, new relation"] = _draw(plan, new_relations, 1, False, False)
    examples["2 hops, new relations"] = _draw(plan, new_relations, 2, False, False)
    if inverse := makers.get("inverse"):
        for hops in range(1, plan.config.hops + 1):
            examples[f"{hops} hops, with a subject"] = _draw(plan, inverse, hops, False, False)
            examples[f"{hops} hops, with a subject, unanswerable"] = _draw(plan, inverse, hops, False, True)
    for form, shares in (("count", (1.0, 0.0)), ("yes_no", (0.0, 1.0))):
        mixture = maker.mixture.change(count=shares[0], yes_no=shares[1])
        of_form = replace(maker, mixture=mixture)
        examples[form] = _draw(plan, of_form, 1, False, False) + _draw(plan, of_form, 2, False, False)
    return examples


def _draw(plan: Plan, maker: ExampleMaker, hops: int, is_held: bool, is_broken: bool) -> list[Example]:
    rng = random.Random(f"{plan.seed}/exam/{hops}/{is_held}/{is_broken}")
    paths = (_draw_path(maker, hops, is_held, rng) for _ in range(plan.n_exam))
    return [maker.make(path, rng, is_broken) for path in paths]


def _draw_path(maker: ExampleMaker, hops: int, is_held: bool, rng: random.Random) -> Path:
    """Draw a path; if the maker asks for subjects, the path leads to a subject at one hop."""
    while True:
        path = maker.compositions.draw(hops, is_held, rng)
        if not maker.compositions.inverse or any(is_inverse(relation.id) for relation in path):
            return path


def calibrate(
    plan: Plan, network: RelationalNetwork, reader: TextReader, makers: tuple[ExampleMaker, ...]
) -> Confidence:
    """Fit the scale on as many questions of each maker as a group of the exam has, and set the threshold."""
    rng = random.Random(f"{plan.seed}/calibrate")
    examples = [maker.draw(rng) for maker in makers for _ in range(plan.n_exam)]
    answerer = Answerer(Model(network, reader, NO_SCALE))
    rows, is_right = [], []
    for part in chunked(examples, BATCH):
        sources = [Sources(EntityNeighbours.of_entities(example.entities)) for example in part]
        readings = answerer.read([example.ask for example in part], sources)
        for example, reading in zip(part, readings, strict=True):
            if isinstance(reading, Reading) and reading.candidates:
                rows.append(reading.features(reading.candidates[0]))
                is_right.append(answerer.reply(reading).best == example.expected)
    return fit_scale(rows, is_right, plan.max_declined)
