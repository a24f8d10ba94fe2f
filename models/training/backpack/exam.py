"""The scales of the Backpack's answers, its questions, and edits of its facts.

Free answers are fitted on phrasings of a writer whose words the training has not read, and on names that the pack
does not hold; choices on the same questions with four other objects of their relation.
"""

import random
from collections.abc import Mapping, Sequence

import torch
from more_itertools import chunked, map_reduce

from models.backpack.generate import Task, complete, score_candidates
from models.backpack.network import Backpack
from models.backpack.reader import MAX_TOKENS
from models.backpack.scales import choice_features, free_features
from models.backpack.speller import Speller
from models.confidence import Confidence, fit
from models.kit.decoded import DecodedAnswer
from models.memory import AnswerChange
from models.system import Ask
from models.training.backpack.texts import SPLITS, Split, Texts
from models.training.kit.exam import Case, Question
from models.training.kit.plan import Plan
from models.training.kit.scale import fit_scale

DECAY, MAX_ITERATIONS = 1e-4, 200
N_OTHERS = 4  # wrong candidates of a choice
BATCH = 64  # questions that are completed together
NEAR_SPLITS: tuple[Split, ...] = ("trained", "held")  # phrasings of the two neighbours of an edit


def fit_scales(plan: Plan, net: Backpack, speller: Speller, texts: Texts) -> dict[str, Confidence]:
    """Fit the scale of free answers, whose threshold declines a few right ones, and that of choices, which has none."""
    questions = [
        *texts.questions("choosing", plan.n_questions),
        *texts.strangers("tune", plan.n_strangers),
    ]
    answers = _complete(net, speller, [question.ask.question for question in questions])
    features = [free_features(answer.logprobs) for answer in answers]
    is_right = [
        answer.finished and speller.say(answer.tokens) == question.expected
        for answer, question in zip(answers, questions, strict=True)
    ]
    free = fit_scale(features, is_right, plan.max_declined, DECAY)
    choices = texts.questions("choosing", plan.n_choices)
    return {"free": free, "choice": _fit_choice(net, speller, choices, plan.seed)}


@torch.inference_mode()
def _complete(net: Backpack, speller: Speller, questions: Sequence[str]) -> list[DecodedAnswer]:
    """Answer questions; those of similar length together."""
    tasks = [Task(speller.ask(question), MAX_TOKENS) for question in questions]
    order = sorted(range(len(tasks)), key=lambda place: len(tasks[place].prompt))
    answers: dict[int, DecodedAnswer] = {}
    for places in chunked(order, BATCH):
        answers |= zip(places, complete(net, [tasks[place] for place in places], speller.stop), strict=True)
    return [answers[place] for place in range(len(tasks))]


def _fit_choice(net: Backpack, speller: Speller, questions: Sequence[Question], seed: int) -> Confidence:
    rng, features, is_right = random.Random(f"{seed} choices"), [], []
    answers = sorted({str(question.expected) for question in questions})
    for question in questions:
        wrong = [
            answer
            for answer in rng.sample(answers, min(N_OTHERS + 1, len(answers)))
            if answer != question.expected
        ]
        candidates = [str(question.expected), *wrong[:N_OTHERS]]
        prompt = speller.ask(question.ask.question)
        with torch.inference_mode():
            scores = score_candidates(net, prompt, [speller.answer(text) for text in candidates])
        features.append(choice_features(scores))
        is_right.append(max(scores) == scores[0])
    return fit(features, is_right, decay=DECAY, max_iterations=MAX_ITERATIONS)


def draw_groups(texts: Texts, limit: int) -> Mapping[str, Sequence[Question]]:
    """Draw the questions of the exam, at most `limit` of each group."""
    groups: dict[str, Sequence[Question]] = {split: texts.questions(split, limit) for split in SPLITS}
    return {**groups, "strangers": texts.strangers("test", limit)}


def draw_cases(texts: Texts, limit: int, seed: int) -> list[Case]:
    """Draw edits of facts, at most `limit`; a neighbour is asked for in a trained and in a held phrasing."""
    rng = random.Random(f"{seed} fact edits")
    items = texts.items
    places = rng.sample(range(len(items)), min(limit, len(items)))
    edited_subjects = {items[place].subject.id for place in places}
    by_relation = map_reduce(range(len(items)), lambda place: items[place].relation.id)

    def ask(place: int, split: Split) -> Ask:
        return Ask(rng.choice(texts.ways(place, split)).replace("{subject}", items[place].subject.label))

    cases = []
    for number, place in enumerate(places):
        item, same = items[place], by_relation[items[place].relation.id]
        answers = sorted({items[other].answer for other in same} - {item.answer})
        if not answers:
            continue
        free = [other for other in same if items[other].subject.id not in edited_subjects]
        near = rng.sample(free, min(len(NEAR_SPLITS), len(free)))
        question, answer = item.relation.question(item.subject.label), rng.choice(answers)
        neighbours = [ask(other, split) for other, split in zip(near, NEAR_SPLITS, strict=False)]
        reach = {"given": Ask(question), "held": ask(place, "held"), "writer": ask(place, "test")}
        cases.append(
            Case(
                AnswerChange(f"{number:04d}", question, answer),
                {kind: [Question(wording, answer)] for kind, wording in reach.items()},
                {"neighbours": neighbours},
            )
        )
    return cases
