"""The questions of kbert's exam, and edits of its graph.

Held phrasings, by a writer whose words neither training nor tuning reads, ask for the facts that tuning did not see.
The seed draws phrasings and the facts of a crowd.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from models.graph.memory import TripleChange
from models.graph.statement import Statement
from models.packs.pack import Item, Relation
from models.system import Ask
from models.training.kbert.calibrate import choice_questions
from models.training.kbert.texts import RelationQuestion, Texts, without_fact
from models.training.kit.exam import Case, Question
from models.training.kit.plan import Plan

Pick = Callable[[Relation], Sequence[str]]


def draw_groups(plan: Plan, texts: Texts) -> Mapping[str, Sequence[Question]]:
    """Draw the questions of each group; a crowd is six relations a tree, in the same phrasings."""
    every, measuring = list(texts.test_pack.items()), texts.split_items()[1]
    new = [
        item
        for item in every
        if item.subject.id in texts.world.held_out and item.relation.id in texts.relations.train
    ]
    sample = random.Random(f"{plan.seed}/exam").sample(measuring, min(plan.exam.phrasings, len(measuring)))
    new_relations = [item for item in every if item.relation.id in texts.relations.held_out]
    entities, both_new, phrasings, relations = (
        _natural_and_crowded(plan, texts, items, pick)
        for items, pick in (
            (new, lambda relation: relation.phrasings),
            (new, lambda relation: relation.held_out),
            (sample, lambda relation: relation.held_out),
            (new_relations, lambda relation: relation.phrasings + relation.held_out),
        )
    )
    choices = [
        Question(ask, answer)
        for ask, answer in choice_questions(texts, plan.seed + 1, measuring, plan.exam.choices)
    ]
    return {
        "entities": entities[0],
        "entities_crowded": entities[1],
        "both_new": both_new[0],
        "phrasings": phrasings[0],
        "phrasings_crowded": phrasings[1],
        "relations": relations[0],
        "relations_crowded": relations[1],
        "absent": _without_facts(phrasings[0]),
        "absent_crowded": _without_facts(phrasings[1]),
        "absent_unseen": _without_facts(relations[0]),
        "absent_unseen_crowded": _without_facts(relations[1]),
        "strangers": list(_strangers(texts)),
        "choices_linked": choices[0::2],
        "choices_plain": choices[1::2],
    }


def _natural_and_crowded(
    plan: Plan, texts: Texts, items: Sequence[Item], pick: Pick
) -> tuple[list[RelationQuestion], list[RelationQuestion]]:
    pairs = [
        (item, random.Random(f"{plan.seed}/{item.subject.id}").choice(pick(item.relation))) for item in items
    ]
    rng = random.Random(f"{plan.seed}/crowd")
    return (
        [texts.maker.natural(item, template) for item, template in pairs],
        [texts.maker.with_crowd(item, template, rng) for item, template in pairs],
    )


def _without_facts(questions: Sequence[RelationQuestion]) -> list[RelationQuestion]:
    return [bare for bare in map(without_fact, questions) if bare is not None]


def _strangers(texts: Texts) -> Iterator[Question]:
    """Yield questions about names that the pack lacks, so that no name is linked."""
    for stranger in texts.test_pack.strangers:
        if stranger.split == "test":
            template = texts.test_pack.relations[stranger.relation_id].held_out[0]
            yield Question(Ask(template.replace("{subject}", stranger.subject)), None)


def draw_cases(plan: Plan, texts: Texts) -> list[Case]:
    """Draw facts of different entities with another object of their relation, and questions for their other facts."""
    rng, every = random.Random(f"{plan.seed}/edits"), list(texts.test_pack.items())
    single = [item for item in every if item.relation.cardinality == "one"]
    by_subject = {item.subject.id: item for item in rng.sample(single, 4 * plan.exam.edits)}
    items = list(by_subject.values())[: plan.exam.edits]
    objects, beside = defaultdict[str, set[str]](set), defaultdict[str, list[Item]](list)
    for item in single:
        objects[item.relation.id].add(item.answer)
    for item in every:
        if item.subject.id in by_subject and item.relation != by_subject[item.subject.id].relation:
            beside[item.subject.id].append(item)
    answers = [rng.choice(sorted(objects[item.relation.id] - {item.answer})) for item in items]

    def ask(item: Item, template: str) -> Ask:
        return texts.maker.natural(item, template).ask

    return [
        Case(
            TripleChange(f"e{order}", {item.subject.id: (Statement(item.relation.id, answer, "", "set"),)}),
            {"given": [Question(ask(item, rng.choice(item.relation.phrasings)), answer)]},
            {"same_subject": [ask(other, other.relation.held_out[0]) for other in beside[item.subject.id]]},
        )
        for order, (item, answer) in enumerate(zip(items, answers, strict=True), 1)
    ]
