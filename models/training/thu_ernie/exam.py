"""The exam of a checkpoint: the third writer's words, links switched off, and edits of rows.

Questions take the served path. A question about entities is right if the best candidate is the fact that it asks for;
hits@5 counts it among the first five.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from jaxtyping import Float
from torch import Tensor

from models.confidence import calibration_error
from models.graph.knowledge import Entity, Fact, Mention
from models.memory import Views
from models.packs.pack import Pack
from models.system import Ask
from models.thu_ernie.answering.answer import Aligner, Reading
from models.thu_ernie.answering.reader import Model
from models.thu_ernie.entities.memory import ENTITIES
from models.thu_ernie.entities.table import EntityView
from models.training.kit.card import percent
from models.training.thu_ernie.plan import Plan
from models.training.thu_ernie.prepare import Setup
from models.training.thu_ernie.wordings import Question, ask

BATCH = 32
HITS = 5


@dataclass(frozen=True)
class Outcome:
    """A question about an entity, and its answer.

    Attributes:
        reading: The question as it was read.
        expected: The right answer; "" if the graph has none.
        relation: The relation that the question asks for.
        score: Probability that the best answer is right.
        answer: The best answer; None if it is withheld.
    """

    reading: Reading
    expected: str
    relation: str
    score: float
    answer: str | None

    def is_hit(self, limit: int = 1) -> bool:
        """Return whether the right answer is among the first so many."""
        entries = self.reading.alignment.entries[:limit]
        return any(entry.candidate.answer == self.expected for entry in entries)


@dataclass(frozen=True)
class Inquiry:
    """A question with its answer."""

    ask: Ask
    expected: str
    relation: str


class Examiner:
    """Asks a checkpoint.

    Args:
        model: The checkpoint.
        setup: Facts and words.
        plan: Seed and numbers of questions.
    """

    def __init__(self, model: Model, setup: Setup, plan: Plan) -> None:
        self.model, self.setup, self.plan = model, setup, plan
        self._aligner = Aligner(model)
        self.entities = read_entities(setup.world.pack)
        self._entities_by_relation: dict[str, list[Entity]] = {}
        for id, entity in self.entities.items():
            for relation in dict.fromkeys(fact.relation for fact in entity.facts):
                self._entities_by_relation.setdefault(relation, []).append(self.entities[id])

    def draw(self, words: str, count: int) -> list[Inquiry]:
        """Draw so many questions of each relation in the words of `choose` or `test`."""
        rng = random.Random(f"{self.plan.seed}/exam/{words}")
        templates = self.setup.wordings.choose if words == "choose" else self.setup.wordings.test
        inquiries = []
        for relation, entities in self._entities_by_relation.items():
            for _ in range(count if templates.get(relation) else 0):
                entity = rng.choice(entities)
                inquiries.append(inquire(entity, relation, rng.choice(templates[relation])))
        return inquiries

    def draw_absent(self, words: str, count: int) -> list[Inquiry]:
        """Draw questions for relations that an entity of a fitting type lacks."""
        rng = random.Random(f"{self.plan.seed}/absent/{words}")
        templates = self.setup.wordings.choose if words == "choose" else self.setup.wordings.test
        relations, types = self.setup.world.pack.relations, self.setup.world.pack.entities
        inquiries = []
        for relation in self._entities_by_relation:
            fitting = [
                entity
                for other in self._entities_by_relation
                if relations[other].subject_type == relations[relation].subject_type
                for entity in self._entities_by_relation[other]
                if all(fact.relation != relation for fact in entity.facts) and entity.id in types
            ]
            inquiries += [
                inquire(rng.choice(fitting), relation, rng.choice(templates[relation]))
                for _ in range(count if fitting and templates.get(relation) else 0)
            ]
        return inquiries

    def draw_strange(self, words: str, count: int) -> list[Inquiry]:
        """Draw questions for relations that no fact has, and that no question of the training asks for."""
        rng = random.Random(f"{self.plan.seed}/strange/{words}")
        templates = self.setup.wordings.strange["choose" if words == "choose" else "test"]
        entities = list(self.entities.values())
        return [inquire(rng.choice(entities), "", rng.choice(templates)) for _ in range(count)]

    def put(self, inquiries: Sequence[Inquiry], view: EntityView | None = None) -> list[Outcome]:
        """Ask questions as the system does."""
        views: Views = {ENTITIES: view or EntityView(self.model.table)}
        outcomes: list[Outcome] = []
        for start in range(0, len(inquiries), BATCH):
            part = inquiries[start : start + BATCH]
            readings = self._aligner.read([inquiry.ask for inquiry in part], [views] * len(part))
            for inquiry, reading in zip(part, readings, strict=True):
                reply = self._aligner.reply(reading)
                outcomes.append(
                    Outcome(reading, inquiry.expected, inquiry.relation, reply.score, reply.answer)
                )
        return outcomes


def read_entities(pack: Pack) -> dict[str, Entity]:
    """Return the entities of a pack that have facts, as the graph has them."""
    facts: dict[str, list[Fact]] = {}
    for fact in pack.facts:
        label = pack.relations[fact.relation_id].label
        facts.setdefault(fact.subject_id, []).append(
            Fact(fact.relation_id, label, fact.object, fact.object_id or "")
        )
    return {
        id: Entity(id, pack.entities[id].label, pack.entities[id].aliases, facts=tuple(of_entity))
        for id, of_entity in facts.items()
    }


def inquire(entity: Entity, relation: str, template: str) -> Inquiry:
    """Ask for a relation of an entity."""
    question: Question = ask(template, entity.label)
    objects = {fact.object for fact in entity.facts if fact.relation == relation}
    mention = Mention(question.begin, question.end, (entity,))
    return Inquiry(Ask(question.text, mentions=(mention,)), ", ".join(sorted(objects)), relation)


def switch_links_off(inquiries: Iterable[Inquiry]) -> list[Inquiry]:
    """Return the same questions without any link."""
    return [replace(inquiry, ask=replace(inquiry.ask, use_graph=False)) for inquiry in inquiries]


def rank_all(examiner: Examiner, inquiries: Sequence[Inquiry]) -> tuple[float, float]:
    """Return hits@1 and hits@5 among all answers of the pack: the rows decide, without the graph's facts."""
    world, model = examiner.setup.world, examiner.model
    matrix: Float[Tensor, "answer size"] = world.rows[world.answers]
    labels = [world.labels[place] for place in world.answers.tolist()]
    first, five = list[bool](), list[bool]()
    for outcome, inquiry in zip(examiner.put(inquiries), inquiries, strict=True):
        vectors = {name: row.vector for name, row in outcome.reading.linking.vectors.items()}
        query = model.query(outcome.reading.masks, [vectors])[0]
        best = [labels[place] for place in (matrix @ query).topk(HITS).indices.tolist()]
        right = {
            fact.object
            for fact in inquiry.ask.mentions[0].entities[0].facts
            if fact.relation == inquiry.relation
        }
        first.append(best[0] in right)
        five.append(any(answer in right for answer in best))
    return percent(first), percent(five)


def share(outcomes: Sequence[Outcome], limit: int = 1) -> float:
    """Return the share of right answers among the first so many, in per cent."""
    return percent(outcome.is_hit(limit) for outcome in outcomes)


def miscalibration(outcomes: Sequence[Outcome]) -> float:
    """Return the calibration error in points."""
    scores = [outcome.score for outcome in outcomes]
    return round(calibration_error(scores, [outcome.is_hit() for outcome in outcomes]), 1)


def relation_shares(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return the share of right answers of each relation, the worst first."""
    by_relation: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_relation.setdefault(outcome.relation, []).append(outcome)
    shares = {relation: share(part) for relation, part in by_relation.items()}
    return dict(sorted(shares.items(), key=lambda pair: (pair[1], pair[0])))
