"""Questions put to the system as it is served, and what came of them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from models.kbert.system import KbertSystem
from models.system import Ask, Reply
from models.training.kbert.asked import Question

BATCH = 32


@dataclass(frozen=True)
class Outcome:
    """right: the answer to the letter, or rightly none."""

    question: Question
    reply: Reply

    @property
    def right(self) -> bool:
        return self.reply.answer == self.question.expected

    @property
    def answered(self) -> bool:
        return self.reply.answer is not None


def put(system: KbertSystem, questions: Sequence[Question]) -> list[Outcome]:
    """In their order; questions of like length go together. What the graph says is in the asks, so no view is read."""
    order = sorted(range(len(questions)), key=lambda place: len(questions[place].ask.mentions))
    replies: dict[int, Reply] = {}
    for start in range(0, len(order), BATCH):
        places = order[start : start + BATCH]
        asks: list[Ask] = [questions[place].ask for place in places]
        replies.update(zip(places, system.answer(asks, [{}] * len(asks)), strict=True))
    return [Outcome(question, replies[place]) for place, question in enumerate(questions)]


def share(outcomes: Iterable[Outcome], of: Callable[[Outcome], bool] = lambda one: one.right) -> float:
    """In per cent."""
    found = [of(one) for one in outcomes]
    return 100 * sum(found) / max(1, len(found))


def declined(outcomes: Iterable[Outcome]) -> float:
    return share(outcomes, lambda one: not one.answered)


def by_relation(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        groups[one.question.relation].append(one)
    return dict(sorted(groups.items()))
