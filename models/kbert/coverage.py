"""Coverage: a value of a question that the fact which would answer it says nothing about, as "in 1975" of a mayor."""

from models.kbert.query import InjectedRelation
from models.kit.days import find_day
from models.scope.literals import find_literals
from models.system import UNSURE, Ask, Reason


def describe_value(ask: Ask, relation: InjectedRelation) -> Reason | None:
    """Return why a fact does not answer a question that names a value which the fact lacks; None if it names none.

    A day is a value that facts with a time have: those that do not hold on it were left out before.
    """
    places = [(mention.start, mention.end) for mention in ask.mentions]
    rest = "".join(" " if any(start <= place < end for start, end in places) else letter
                   for place, letter in enumerate(ask.question))  # fmt: skip
    of_label = find_literals(relation.values[0].label)
    values = [text for text in find_literals(rest) if text not in of_label and any(map(str.isdigit, text))]
    if not values or (find_day(rest) and relation.has_period):
        return None
    return Reason(
        UNSURE,
        f"What is known of {relation.entity.label} says nothing about {values[0]}: {relation.values[0].label}.",
    )
