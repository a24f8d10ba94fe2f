"""The measurement: every set of questions of the card, on the system as it is served.

Held phrasings, by a writer whose words neither training nor tuning reads, ask for the facts that tuning did not see.
The seed draws phrasings and fillers.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from models.graph.blocks import statements_block
from models.graph.memory import GraphMemory
from models.graph.statement import Statement
from models.kbert.encoder import Encoder
from models.kbert.heads import Heads
from models.kbert.row import Batch
from models.kbert.system import KbertSystem
from models.memory import Material
from models.packs.pack import Item
from models.system import Ask
from models.training.kbert.calibrate import (
    choice_questions,
    fit_options,
    split_items,
    tuning_questions,
)
from models.training.kbert.plan import Plan
from models.training.kbert.prepare import Setup
from models.training.kbert.questions import Outcome, Question, QuestionMaker, ask_about, put, without_fact

MAX_PHRASINGS, N_EDITS, MAX_ABLATION, N_OTHERS = 3000, 600, 600, 300  # questions
REFIT_EVERY = 5  # every fifth question for tuning serves to fit the scale of an ablation

Pick = Callable[[Item, random.Random], str]


Ablate = Callable[[KbertSystem], KbertSystem]
ChangeBatch = Callable[[Batch], Batch]


@dataclass(frozen=True)
class AblatedEncoder(Encoder):
    """An encoder that gets an ablated batch instead of the whole one."""

    change: ChangeBatch = lambda batch: batch

    def read(self, batch: Batch) -> Float[Tensor, "batch token width"]:
        return super().read(self.change(batch))


def _change_batches(change: ChangeBatch) -> Ablate:
    def ablate(system: KbertSystem) -> KbertSystem:
        encoder = AblatedEncoder(**vars(system.model.encoder), change=change)
        return KbertSystem(replace(system.model, encoder=encoder), system.reader)

    return ablate


def _zero_heads(*names: str) -> Ablate:
    def ablate(system: KbertSystem) -> KbertSystem:
        tensors = dict(system.model.heads.tensors)
        tensors |= {name: torch.zeros_like(tensors[name]) for name in names}
        return KbertSystem(replace(system.model, heads=Heads(tensors)), system.reader)

    return ablate


def _keep_ask(ask: Ask) -> Ask:
    return ask


def _unlink(ask: Ask) -> Ask:
    return replace(ask, mentions=(), use_graph=False)


ABLATIONS: dict[str, tuple[Ablate, Callable[[Ask], Ask]]] = {
    "K-BERT": (lambda system: system, _keep_ask),
    "without soft positions": (_change_batches(lambda batch: batch.with_hard_positions()), _keep_ask),
    "without the visible matrix": (_change_batches(lambda batch: batch.without_visible_matrix()), _keep_ask),
    "without either": (
        _change_batches(lambda batch: batch.with_hard_positions().without_visible_matrix()),
        _keep_ask,
    ),
    "without the graph": (lambda system: system, _unlink),
    "the pointer without the rank": (_zero_heads("rank.weight"), _keep_ask),
    "the rank without the pointer": (_zero_heads("pointer.weight", "pointer.bias"), _keep_ask),
}
"""The paper's ablations (Liu et al., K-BERT, section "Ablation studies") and two of our own, on the trained weights.

Without soft positions: places in the row. Without the visible matrix: every token sees all. Without the graph: plain
BERT. Ours: the pointer without the rank, and the rank without the pointer. No weight is trained again, but each gets a
scale and a threshold of its own, so that a mere shift of its logits costs it nothing.
"""


@dataclass(frozen=True)
class Exam:
    """Outcomes of all sets of questions.

    Attributes:
        entities: Entities that training never saw, on the natural graph and with six relations a tree.
        phrasings: Phrasings that training never saw, on both graphs.
        relations: Relations that training never saw, on both graphs.
        both_new: New phrasings about new entities.
        absent: Questions of `phrasings` and of `relations` without their fact.
        edits: Questions after a triple was replaced at run time, of seen and unseen relations.
        ablations: Name -> outcomes on one set, with the fact and without it, six relations a tree.
    """

    entities: list[Outcome]
    entities_crowded: list[Outcome]
    both_new: list[Outcome]
    phrasings: list[Outcome]
    phrasings_crowded: list[Outcome]
    relations: list[Outcome]
    relations_crowded: list[Outcome]
    absent: list[Outcome]
    absent_crowded: list[Outcome]
    absent_unseen: list[Outcome]
    absent_unseen_crowded: list[Outcome]
    strangers: list[Outcome]
    edits: list[Outcome]
    choices_linked: list[Outcome]
    choices_plain: list[Outcome]
    ablations: dict[str, tuple[list[Outcome], list[Outcome]]]


class Examiner:
    def __init__(
        self, plan: Plan, setup: Setup, system: KbertSystem, graph: GraphMemory, maker: QuestionMaker
    ) -> None:
        self._plan, self._setup, self._system, self._maker = plan, setup, system, maker
        self._graph = graph
        self._seed = plan.seed
        self._items = split_items(setup)[1]

    def examine(self, say: Callable[[str], None]) -> Exam:
        say("asking about entities, phrasings and relations that training never saw")
        world = self._setup.world
        trained_ids = set(self._setup.relations.train)
        every = list(self._setup.test_pack.items())
        new = [
            item for item in every if item.subject.id in world.held_out and item.relation.id in trained_ids
        ]
        sample = random.Random(f"{self._seed}/exam").sample(self._items, min(MAX_PHRASINGS, len(self._items)))
        held_out = [item for item in every if item.relation.id in self._setup.relations.held_out]
        phrasings, relations = (
            self._natural_and_crowded(sample, _pick_held),
            self._natural_and_crowded(held_out, _pick_any),
        )
        entities = self._natural_and_crowded(new, _pick_trained)
        say("asking for what is not there, and what was changed")
        choices = self._choices()
        return Exam(
            entities=self._put(entities[0]),
            entities_crowded=self._put(entities[1]),
            both_new=self._put(
                [self._maker.natural(item, _pick_held(item, self._rng(item.subject.id))) for item in new]
            ),
            phrasings=self._put(phrasings[0]),
            phrasings_crowded=self._put(phrasings[1]),
            relations=self._put(relations[0]),
            relations_crowded=self._put(relations[1]),
            absent=self._put(_without_facts(phrasings[0])),
            absent_crowded=self._put(_without_facts(phrasings[1])),
            absent_unseen=self._put(_without_facts(relations[0])),
            absent_unseen_crowded=self._put(_without_facts(relations[1])),
            strangers=self._put(list(self._strangers())),
            edits=self._edits(every),
            choices_linked=choices[0],
            choices_plain=choices[1],
            ablations=self._ablations([*new, *held_out], say),
        )

    def _natural_and_crowded(
        self, items: Sequence[Item], pick: Pick
    ) -> tuple[list[Question], list[Question]]:
        """Make natural and crowded questions, in the same phrasings."""
        templates = [pick(item, self._rng(item.subject.id)) for item in items]
        rng = self._rng("crowd")
        pairs = list(zip(items, templates, strict=True))
        return (
            [self._maker.natural(item, template) for item, template in pairs],
            [self._maker.with_crowd(item, template, rng) for item, template in pairs],
        )

    def _put(self, questions: Sequence[Question]) -> list[Outcome]:
        return put(self._system, questions)

    def _rng(self, purpose: str) -> random.Random:
        return random.Random(f"{self._seed}/{purpose}")

    def _strangers(self) -> Iterator[Question]:
        """Yield questions about names that the pack lacks, so that no name is linked."""
        for stranger in self._setup.test_pack.strangers:
            if stranger.split == "test":
                template = self._setup.test_pack.relations[stranger.relation_id].held_out[0]
                yield Question(
                    Ask(template.replace("{subject}", stranger.subject)), None, stranger.relation_id
                )

    def _edits(self, every: Sequence[Item]) -> list[Outcome]:
        """Ask after one edit each, all active at once, of another object of the relation, in trained phrasings."""
        rng = self._rng("edits")
        single = [item for item in every if item.relation.cardinality == "one"]
        by_subject = {item.subject.id: item for item in rng.sample(single, 4 * N_EDITS)}
        items = list(by_subject.values())[:N_EDITS]
        objects = {
            item.relation.id: {other.answer for other in single if other.relation == item.relation}
            for item in items
        }
        answers = [rng.choice(sorted(objects[item.relation.id] - {item.answer})) for item in items]
        materials = []
        for order, (item, answer) in enumerate(zip(items, answers, strict=True), start=1):
            statement = Statement(item.relation.id, answer, "", "set")
            block = statements_block(f"edit/e{order}", order, {item.subject.id: (statement,)})
            materials.append(Material(f"e{order}", "graph", block))
        view = self._graph.view(self._graph.fold(materials))
        questions = []
        for item, answer in zip(items, answers, strict=True):
            entity = view.entity(item.subject.id)
            assert entity is not None
            template = rng.choice(item.relation.phrasings)
            questions.append(ask_about(template, entity, answer, item.relation.id))
        return self._put(questions)

    def _choices(self) -> tuple[list[Outcome], list[Outcome]]:
        """Ask with candidates, and measure their order without the threshold."""
        pairs = choice_questions(self._setup, self._maker, self._seed + 1, self._items, N_OTHERS)
        outcomes = self._put([Question(ask, answer, "") for ask, answer in pairs])
        best = [
            replace(outcome, reply=replace(outcome.reply, answer=outcome.reply.best)) for outcome in outcomes
        ]
        return best[0::2], best[1::2]

    def _ablations(
        self, items: Sequence[Item], say: Callable[[str], None]
    ) -> dict[str, tuple[list[Outcome], list[Outcome]]]:
        """Measure each ablation with its own scale and threshold, fitted like those of the whole system."""
        rng = self._rng("ablation")
        sample = rng.sample(list(items), min(MAX_ABLATION, len(items)))
        answerable = [self._maker.with_crowd(item, _pick_any(item, rng), rng) for item in sample]
        question_sets = (answerable, _without_facts(answerable))
        tuning = tuning_questions(self._setup, self._maker, self._plan.seed)[::REFIT_EVERY]
        outcomes = {}
        for name, (ablate, change) in ABLATIONS.items():
            say(name)
            system = ablate(self._system)
            if system is not self._system:
                scale = fit_options(system.model, tuning)
                scales = {**system.model.confidences, "object": scale}
                system = KbertSystem(replace(system.model, confidences=scales), system.reader)
            with_fact, without = (
                put(system, [replace(question, ask=change(question.ask)) for question in questions])
                for questions in question_sets
            )
            outcomes[name] = (with_fact, without)
        return outcomes


def _pick_trained(item: Item, rng: random.Random) -> str:
    return rng.choice(item.relation.phrasings)


def _pick_held(item: Item, rng: random.Random) -> str:
    return rng.choice(item.relation.held_out)


def _pick_any(item: Item, rng: random.Random) -> str:
    return rng.choice(item.relation.phrasings + item.relation.held_out)


def _without_facts(questions: Sequence[Question]) -> list[Question]:
    return [bare for bare in map(without_fact, questions) if bare is not None]
