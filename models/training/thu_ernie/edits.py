"""Edits of rows: whether the new object comes out, and whether the entity's other facts stay.

An edit changes the graph's fact and the entity's row, as a curator's triple does. Whether the row decides shows if
both objects are candidates: without the new row the old object has to win.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from models.graph.knowledge import Entity, Fact
from models.thu_ernie.answering.answer import Reading
from models.thu_ernie.entities.names import TEXT
from models.thu_ernie.entities.table import EntityView
from models.training.kit.card import percent
from models.training.thu_ernie.exam import Examiner, Inquiry, Outcome, inquire

MAX_DRAWS = 4  # draws for each of many edits, since an entity may be drawn twice


@dataclass(frozen=True)
class Edit:
    """One edit.

    Attributes:
        entity: The entity with the new fact.
        relation: The relation.
        old: Its object before.
        new: Its object now.
        template: The question's template.
        view: The table with the new row.
    """

    entity: Entity
    relation: str
    old: str
    new: str
    template: str
    view: EntityView


def measure_edits(examiner: Examiner, count: int, seed: int) -> dict[str, float]:
    """Make so many edits, each alone, and ask for them in the words of the third writer.

    Returns:
        Shares in per cent: `follow`, where the new object is the best answer; `wins`, where it wins against the old
        one; `wins_before`, the same with the old row, which is low if the row decides; `stable`, the other facts of
        the edited entities (`n_others`) whose best answer stays.
    """
    rng = random.Random(f"{seed}/edits")
    edits = [draw_edit(examiner, rng) for _ in range(count)]
    follow, wins, wins_before, stable = list[bool](), list[bool](), list[bool](), list[bool]()
    for edit in edits:
        inquiry = inquire(edit.entity, edit.relation, edit.template)
        contest = replace(inquiry, ask=replace(inquiry.ask, candidates=(edit.old, edit.new)))
        other_facts = list_others(examiner, edit, rng)
        reply, contest_after, *others_after = examiner.put([inquiry, contest, *other_facts], edit.view)
        contest_before, *others_before = examiner.put([contest, *other_facts])
        follow.append(reply.is_hit())
        wins.append(contest_after.is_hit())
        wins_before.append(contest_before.is_hit())
        stable += _are_same(others_before, others_after)
    return {
        "n": count,
        "follow": percent(follow),
        "wins": percent(wins),
        "wins_before": percent(wins_before),
        "n_others": len(stable),
        "stable": percent(stable),
    }


def measure_together(examiner: Examiner, count: int, seed: int) -> dict[str, float]:
    """Make so many edits at once, and ask for them and for facts of other entities.

    Returns:
        Shares in per cent: `follow`, where the new object is the best answer, and `unedited_same`, the questions about
        entities without an edit (`n_unedited`) whose best answer stays.
    """
    rng = random.Random(f"{seed}/edits together")
    by_entity: dict[str, Edit] = {}
    for _ in range(MAX_DRAWS * count):
        if len(by_entity) < count:
            edit = draw_edit(examiner, rng)
            by_entity.setdefault(edit.entity.id, edit)
    vectors = {row: vector for edit in by_entity.values() for row, vector in edit.view.vectors.items()}
    view = EntityView(examiner.model.table, vectors, {}, dict.fromkeys(vectors, "edit"))
    inquiries = [inquire(edit.entity, edit.relation, edit.template) for edit in by_entity.values()]
    follow = [outcome.is_hit() for outcome in examiner.put(inquiries, view)]
    unedited_questions = [
        inquiry
        for inquiry in examiner.draw("test", max(1, count // 40))
        if inquiry.ask.mentions[0].entities[0].id not in by_entity
    ]
    same = _are_same(examiner.put(unedited_questions), examiner.put(unedited_questions, view))
    return {
        "n": len(by_entity),
        "follow": percent(follow),
        "n_unedited": len(same),
        "unedited_same": percent(same),
    }


def _are_same(before: Sequence[Outcome], after: Sequence[Outcome]) -> list[bool]:
    """Return for each question whether its best answer stays."""
    return [_best(old.reading) == _best(new.reading) for old, new in zip(before, after, strict=True)]


def draw_edit(examiner: Examiner, rng: random.Random) -> Edit:
    """Draw a fact of the pack and another object for it."""
    world, templates = examiner.setup.world, examiner.setup.wordings.test
    while True:
        relation = rng.choice(sorted(templates))
        id = rng.choice(world.subjects[relation])
        places = world.facts[id][relation]
        choices = [place for place in world.objects[relation] if place not in places]
        if len(places) == 1 and choices:
            break
    new = rng.choice(choices)
    facts = {**world.facts[id], relation: [new]}
    row = examiner.model.table.names.row_of(id)
    vector = world.solve(world.rows[world.places[id]], facts, relation)
    view = EntityView(examiner.model.table, {row: vector}, {}, {row: "edit"})
    entity = set_object(examiner.entities[id], relation, world.labels[new], world.triples.names[new])
    old = world.labels[places[0]]
    return Edit(entity, relation, old, world.labels[new], rng.choice(templates[relation]), view)


def set_object(entity: Entity, relation: str, label: str, name: str) -> Entity:
    """Return an entity with another object of a relation."""
    object_id = "" if name.startswith(TEXT) else name
    facts = tuple(
        Fact(fact.relation, fact.label, label, object_id, "edit") if fact.relation == relation else fact
        for fact in entity.facts
    )
    return replace(entity, facts=facts)


def list_others(examiner: Examiner, edit: Edit, rng: random.Random) -> list[Inquiry]:
    """Return a question for each other relation of the edited entity."""
    templates = examiner.setup.wordings.test
    relations = dict.fromkeys(fact.relation for fact in edit.entity.facts)
    return [
        inquire(edit.entity, relation, rng.choice(templates[relation]))
        for relation in relations
        if relation != edit.relation and relation in templates
    ]


def _best(reading: Reading) -> str:
    entries = reading.alignment.entries
    return entries[0].candidate.answer if entries else ""
