"""The exam of THU-ERNIE: the third writer's words, links switched off, facts that are not there, and edits of facts."""

import random
from collections.abc import Sequence
from dataclasses import replace

from more_itertools import chunked

from models.confidence import Confidence
from models.graph.knowledge import Entity, Fact
from models.graph.memory import TripleChange
from models.graph.statement import Statement
from models.packs.pack import Pack
from models.thu_ernie.answer import Aligner
from models.thu_ernie.entities.memory import ENTITIES
from models.thu_ernie.entities.table import EntityView
from models.thu_ernie.reader import Model
from models.training.kit.exam import BATCH, Case, Question
from models.training.kit.plan import Plan
from models.training.kit.scale import fit_scale
from models.training.texts.phrasings import SLOT, fill
from models.training.thu_ernie.wordings import Wordings

NO_SCALE = Confidence((1.0, 0.0), 0.0, 0.0)  # scale that equals the odds against no answer
LOWEST = 0.3  # lowest threshold: an answer that is more likely wrong than right by far is withheld
N_PER_RELATION, N_ABSENT, N_WITHOUT_LINKS = 12, 4, 4  # questions of each relation that scales are fitted on
N_TEST_ABSENT, N_TEST_UNLINKED = 5, 6  # questions of each relation in the exam
MAX_DRAWS = 4  # draws for each of many edits, since an entity may be drawn twice


class Drawer:
    """Draws questions about the entities of a pack; those for a test are in the words of the third writer."""

    def __init__(self, pack: Pack, wordings: Wordings, seed: int) -> None:
        self._pack, self._wordings, self._seed = pack, wordings, seed
        self._entities = read_entities(pack)
        self._by_relation: dict[str, list[Entity]] = {}
        for entity in self._entities.values():
            for relation in dict.fromkeys(fact.relation for fact in entity.facts):
                self._by_relation.setdefault(relation, []).append(entity)

    def draw_groups(self, n: int) -> dict[str, list[Question]]:
        """Draw the groups of the exam, with n questions of each relation in the first."""
        absent = self.draw_absent("test", N_TEST_ABSENT)
        return {
            "neighbours": self.draw("test", n),
            "links off": switch_links_off(self.draw("test", min(n, N_TEST_UNLINKED))),
            "absent": absent,
            "strange": self.draw_strange("test", len(absent)),
        }

    def draw(self, words: str, count: int) -> list[Question]:
        """Draw so many questions of each relation in the words of `choose` or `test`."""
        rng = random.Random(f"{self._seed}/exam/{words}")
        return [
            inquire(rng.choice(entities), relation, rng.choice(templates))
            for relation, entities in self._by_relation.items()
            if (templates := self._templates(words).get(relation))
            for _ in range(count)
        ]

    def draw_absent(self, words: str, count: int) -> list[Question]:
        """Draw questions for relations that an entity of a fitting type lacks."""
        rng = random.Random(f"{self._seed}/absent/{words}")
        relations, questions = self._pack.relations, list[Question]()
        for relation in self._by_relation:
            templates = self._templates(words).get(relation)
            fitting = [
                entity
                for other in self._by_relation
                if relations[other].subject_type == relations[relation].subject_type
                for entity in self._by_relation[other]
                if all(fact.relation != relation for fact in entity.facts)
            ]
            if fitting and templates:
                questions += [
                    inquire(rng.choice(fitting), relation, rng.choice(templates)) for _ in range(count)
                ]
        return questions

    def draw_strange(self, words: str, count: int) -> list[Question]:
        """Draw questions for relations that no fact has, and that no question of the training asks for."""
        rng = random.Random(f"{self._seed}/strange/{words}")
        templates = self._wordings.strange["choose" if words == "choose" else "test"]
        entities = list(self._entities.values())
        return [inquire(rng.choice(entities), "", rng.choice(templates)) for _ in range(count)]

    def draw_cases(self, count: int, purpose: str) -> list[Case]:
        """Draw edits of facts of different entities, with questions for them, beside them, and about others."""
        rng, cases = random.Random(f"{self._seed}/edits/{purpose}"), dict[str, Case]()
        for _ in range(MAX_DRAWS * count):
            if len(cases) < count:
                entity, case = self._draw_case(f"{len(cases):04d}", rng)
                cases.setdefault(entity.id, case)
        asks = [question.ask for question in self.draw("test", max(1, count // 40))]
        bystanders = [ask for ask in asks if ask.mentions[0].entities[0].id not in cases]
        return [
            replace(case, stay={**case.stay, "others": bystanders[place :: len(cases)]})
            for place, case in enumerate(cases.values())
        ]

    def _draw_case(self, id: str, rng: random.Random) -> tuple[Entity, Case]:
        """Draw a fact with a single object, and another object of its relation."""
        templates = self._wordings.test
        while True:
            relation = rng.choice(sorted(templates.keys() & self._by_relation.keys()))
            entity = rng.choice(self._by_relation[relation])
            objects = [fact for fact in entity.facts if fact.relation == relation]
            other = rng.choice(self._by_relation[relation])
            new = rng.choice([fact for fact in other.facts if fact.relation == relation])
            if len(objects) == 1 and new.object != objects[0].object:
                break
        question = inquire(entity, relation, rng.choice(templates[relation])).ask
        contest = replace(question, candidates=(objects[0].object, new.object))
        relations = dict.fromkeys(fact.relation for fact in entity.facts)
        stay = [
            inquire(entity, beside, rng.choice(templates[beside])).ask
            for beside in relations
            if beside != relation and beside in templates
        ]
        statement = Statement(relation, new.object, new.object_id, "set")
        return entity, Case(
            TripleChange(id, {entity.id: (statement,)}),
            {"given": [Question(question, new.object)], "against_old": [Question(contest, new.object)]},
            {"same_subject": stay},
        )

    def _templates(self, words: str) -> dict[str, Sequence[str]]:
        return dict(self._wordings.choose if words == "choose" else self._wordings.test)


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


def inquire(entity: Entity, relation: str, template: str) -> Question:
    """Ask for a relation of an entity; without such a fact, to decline is right."""
    objects = {fact.object for fact in entity.facts if fact.relation == relation}
    return Question(fill(template, {SLOT: entity}), ", ".join(sorted(objects)) or None)


def switch_links_off(questions: Sequence[Question]) -> list[Question]:
    """Return the same questions without any link."""
    return [replace(question, ask=replace(question.ask, use_graph=False)) for question in questions]


def calibrate(plan: Plan, model: Model, drawer: Drawer) -> dict[str, Confidence]:
    """Fit the scale of each kind of answer, on phrasings and subjects that no weight was trained on."""
    absent = drawer.draw_absent("choose", N_ABSENT)
    linked_questions = [
        *drawer.draw("choose", N_PER_RELATION),
        *absent,
        *drawer.draw_strange("choose", len(absent)),
    ]
    unlinked_questions = switch_links_off(drawer.draw("choose", N_WITHOUT_LINKS))
    return {
        kind: _fit(plan, *_read(model, questions))
        for kind, questions in (("neighbours", linked_questions), ("answers", unlinked_questions))
    }


def _read(model: Model, questions: Sequence[Question]) -> tuple[list[tuple[float, float]], list[bool]]:
    """Return the features of each best answer, and whether it is right."""
    aligner, views = Aligner(model), {ENTITIES: EntityView(model.table)}
    features, is_right = list[tuple[float, float]](), list[bool]()
    for part in chunked(questions, BATCH):
        readings = aligner.read([question.ask for question in part], [views] * len(part))
        for question, reading in zip(part, readings, strict=True):
            if entries := reading.alignment.entries:
                features.append(reading.alignment.features)
                is_right.append(entries[0].candidate.answer == question.expected)
    return features, is_right


def _fit(plan: Plan, features: Sequence[tuple[float, float]], is_right: Sequence[bool]) -> Confidence:
    """Fit one scale; its threshold declines a small share of the right answers."""
    scale = fit_scale(features, is_right, plan.max_declined)
    return replace(scale, threshold=max(LOWEST, scale.threshold))
