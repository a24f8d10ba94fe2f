"""Calibrates logits into scores, and chooses the scores below which answers are withheld.

Scales (models/confidence.py) and thresholds are fitted on every second fact, in the words of a writer whose phrasings
serve nothing else, and on a dozen relations that no weight has seen. The last measurement uses other facts, held
entities and the five held relations.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from more_itertools import chunked
from torch import Tensor

from models.confidence import Confidence, fit
from models.encoder.weights import find
from models.graph.knowledge import Entity, Fact
from models.kbert.answer import Answerer
from models.kbert.checkpoint import Settings, Trained, assemble
from models.kbert.options import describe_best, support_candidates
from models.packs.pack import Item
from models.steps import finish
from models.system import Ask
from models.training.kbert.learning import Net
from models.training.kbert.texts import RelationQuestion, Texts, World, ask_about, without_fact
from models.training.kit.plan import Plan
from models.training.kit.scale import DECAY, fit_scale
from models.training.texts.inventions import invent
from models.training.texts.relations import RelationText

OPEN = {"object": Confidence((0.0,) * 4, 0.0, 0.0)}
PAIR = Confidence((1.0,), 0.0, 0.0)
CHOICES, BATCH = 400, 64
PER_RELATION = 120  # questions about each tuning relation
EVERY = 3  # every third of the facts for tuning is asked
SURE = 0.5  # score from which an answer is more likely right than not
MAX_ITERATIONS = 300  # most steps of a fit


def calibrate(plan: Plan, texts: Texts, net: Net, bend: Tensor) -> Trained:
    """Return the learned weights with scales and thresholds."""
    settings = Settings(
        plan.max_length, plan.max_entities, plan.max_mentions, plan.lora_alpha / plan.lora_rank
    )
    trained = Trained(settings, net.adapters(), net.heads(), bend, {**OPEN, "pair": PAIR})
    answerer = Answerer(assemble(find(), trained))
    pair, weight = _fit_pairs(plan, texts, answerer)
    scales = {"object": _fit_options(answerer, tuning_questions(texts, plan.seed)), "pair": pair}
    heads = {**trained.heads, "support.weight": torch.tensor(weight)}
    return replace(trained, heads=heads, confidences=scales)


def _fit_options(answerer: Answerer, questions: Sequence[RelationQuestion]) -> Confidence:
    """Fit the scale of the pointer's best option, which is given as an answer from SURE on."""
    features, is_right = list[tuple[float, ...]](), list[bool]()
    for batch in chunked(questions, BATCH):
        readings = finish(answerer.read([question.ask for question in batch]))
        for question, reading in zip(batch, readings, strict=True):
            if reading.options is not None and reading.options.by_logit:
                features.append(describe_best(reading.options))
                is_right.append(reading.options.by_logit[0].answer == question.expected)
    return replace(fit(features, is_right, decay=DECAY, max_iterations=MAX_ITERATIONS), threshold=SURE)


def _fit_pairs(plan: Plan, texts: Texts, answerer: Answerer) -> tuple[Confidence, float]:
    """Fit the scale of pairs, and the weight of support beside the ranker's own log-odds."""
    features, is_right = list[tuple[float, ...]](), list[bool]()
    choices = list(choice_questions(texts, plan.seed, texts.split_items()[0], CHOICES))
    readings = []
    for batch in chunked(choices, BATCH):
        readings += finish(answerer.read([ask for ask, _ in batch]))
    for (ask, answer), reading in zip(choices, readings, strict=True):
        matches = finish(answerer.match([(ask, reading, text) for text in ask.candidates]))
        supports = support_candidates(reading.options, ask.candidates)
        features += [(match or 0.0, support) for match, support in zip(matches, supports, strict=True)]
        is_right += [text == answer for text in ask.candidates]
    scale = fit_scale(features, is_right, plan.max_declined, DECAY, MAX_ITERATIONS)
    match_weight, support_weight = max(scale.weights[0], 0.05), scale.weights[1]
    return replace(scale, weights=(match_weight,)), support_weight / match_weight


def tuning_questions(texts: Texts, seed: int) -> list[RelationQuestion]:
    """Return answerable questions and, if the entity has other facts, the same questions without their fact."""
    rng = random.Random(f"{seed}/tuning")
    questions: list[RelationQuestion] = []
    for item in texts.split_items()[0][::EVERY]:
        template = rng.choice(item.relation.held_out)
        questions += [texts.maker.natural(item, template), texts.maker.with_crowd(item, template, rng)]
    for relation in texts.relations.tune.values():
        questions += _questions_about(texts.world, relation, rng)
    return questions + [bare for bare in map(without_fact, questions) if bare is not None]


def choice_questions(texts: Texts, seed: int, items: Sequence[Item], count: int) -> Iterator[tuple[Ask, str]]:
    """Yield questions with five objects of the relation to choose from, every second one with the graph."""
    rng = random.Random(f"{seed}/choices")
    for number, item in enumerate(rng.sample(list(items), count)):
        pool = texts.world.pools.get(item.relation.id) or texts.world.pools["any"]
        wrong = [text for text in rng.sample(pool, min(5, len(pool))) if text not in item.answer][:4]
        candidates = [item.answer, *wrong]
        rng.shuffle(candidates)
        ask = texts.maker.with_crowd(item, rng.choice(item.relation.held_out), rng).ask
        is_linked = number % 2 == 0
        mentions = ask.mentions if is_linked else ()
        yield (
            Ask(ask.question, 10, candidates=tuple(candidates), mentions=mentions, use_graph=is_linked),
            item.answer,
        )


def _questions_about(world: World, relation: RelationText, rng: random.Random) -> Iterator[RelationQuestion]:
    """Yield questions about entities with a fact of the tuning relation among one to six of other relations."""
    type = relation.subject if relation.subject in world.names else "place"
    for _ in range(PER_RELATION):
        fillers = [world.relations.train[id] for id in rng.sample(world.fitting(type), rng.randint(0, 5))]
        facts = []
        for text in (relation, *fillers):
            answer = invent(text.object, rng) or world.draw_object(text, rng)
            facts.append(Fact(text.id, text.labels[0], answer))
        entity = Entity("made", rng.choice(world.names[type]), facts=tuple(facts))
        yield ask_about(rng.choice(relation.phrasings), entity, facts[0].object, relation.id)
