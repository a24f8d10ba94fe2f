"""The edits of the exam, with the questions around them."""

import random
from collections.abc import Sequence

from models.memory import AnswerChange
from models.packs.pack import Item
from models.system import Ask
from models.training.kit.exam import Case, Question
from models.training.nkb.texts import Texts

MOST_ASKED = 1000  # questions of each kind of bystander


def draw_groups(texts: Texts) -> dict[str, list[Question]]:
    """Return the questions of each group that nothing was chosen by."""
    return {
        name: [Question(Ask(texts.lines[row].text), texts.lines[row].answer or None) for row in rows]
        for name, rows in texts.group_rows().items()
        if "tuning" not in name
    }


def draw_cases(items: Sequence[Item], targets: Sequence[int], seed: int) -> list[Case]:
    """Draw another answer of its relation for each target, and questions around all of them.

    Questions whose answer stays are about facts without an edit: of an edited relation and no edited subject, of an
    edited subject, and of any other subject. All edits are active at once, so it does not matter which case has them.
    """
    rng = random.Random(seed)
    answers = {index: answer for index in targets if (answer := _other_answer(items, index, rng))}
    stay = {
        kind: [Ask(_held_question(items[i], rng)) for i in rng.sample(group, min(MOST_ASKED, len(group)))]
        for kind, group in _bystanders(items, targets).items()
    }
    cases = []
    for place, (index, answer) in enumerate(answers.items()):
        question = items[index].relation.question(items[index].subject.label)
        reach = {"given": question, "held": _held_question(items[index], rng)}
        cases.append(
            Case(
                AnswerChange(str(index), question, answer),
                {kind: [Question(Ask(wording), answer)] for kind, wording in reach.items()},
                {kind: asks[place :: len(answers)] for kind, asks in stay.items()},
            )
        )
    return cases


def _bystanders(items: Sequence[Item], targets: Sequence[int]) -> dict[str, list[int]]:
    relations = {items[index].relation.id for index in targets}
    subjects = {items[index].subject.id for index in targets}
    rest = sorted(set(range(len(items))) - set(targets))
    far = [i for i in rest if items[i].subject.id not in subjects]
    return {
        "same_relation": [i for i in far if items[i].relation.id in relations],
        "same_subject": [i for i in rest if items[i].subject.id in subjects],
        "others": far,
    }


def _other_answer(items: Sequence[Item], index: int, rng: random.Random) -> str | None:
    """Return an answer of another fact of the relation; None if all have the same."""
    relation, answer = items[index].relation.id, items[index].answer
    answers = sorted({i.answer for i in items if i.relation.id == relation and i.answer != answer})
    return rng.choice(answers) if answers else None


def _held_question(item: Item, rng: random.Random) -> str:
    return rng.choice(item.relation.held_out).replace("{subject}", item.subject.label)
