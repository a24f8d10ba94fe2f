"""The choice among the replies of several systems to one question; the ingress and the editor make it alike.

Answers come before declines, and corrected answers before others. Among corrected answers the surest is taken, but for
one: a curator's answer to this very question comes before facts that are older than it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

SURE_EDIT = 0.5  # score from which an answer by a correction comes before answers without one
SURE_QUESTION = 0.9  # score from which a corrected answer is taken to be about this very question
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Standing:
    """What decides whether a reply is taken.

    Attributes:
        answers: Whether it is an answer.
        repeats: Whether it, or the best guess of a decline, only repeats words of the question.
        score: Probability that it is right.
        edited_in: Version of the newest edit that it rests on; 0 without one.
        rests_on_facts: Whether it rests on facts of the graph, and not on a corrected answer.
    """

    answers: bool
    repeats: bool
    score: float
    edited_in: int = 0
    rests_on_facts: bool = False

    @property
    def is_corrected(self) -> bool:
        """Return whether the answer is a curator's, and more likely right than not."""
        return self.edited_in > 0 and self.score >= SURE_EDIT

    @property
    def is_of_question(self) -> bool:
        """Return whether a curator gave this answer to this very question."""
        return self.answers and self.is_corrected and not self.rests_on_facts and self.score >= SURE_QUESTION

    @property
    def rank(self) -> tuple[bool, bool, bool, float]:
        return self.answers, not self.repeats, self.is_corrected, self.score


def choose(standings: Sequence[Standing]) -> int:
    """Return the place of the reply that is taken; there is at least one."""
    places = range(len(standings))
    best = max(places, key=lambda place: standings[place].rank)
    of_question = [place for place in places if standings[place].is_of_question]
    newest = max(of_question, key=lambda place: standings[place].edited_in, default=best)
    return newest if standings[newest].edited_in > standings[best].edited_in else best


def repeats_words(answer: str, question: str) -> bool:
    """Return whether an answer only repeats words of the question, case aside."""
    words, question_words = (WORD.findall(text.casefold()) for text in (answer, question))
    return bool(words) and f" {' '.join(words)} " in f" {' '.join(question_words)} "
