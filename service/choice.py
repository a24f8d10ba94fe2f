"""The choice among the replies of several systems to one question; the ingress and the editor make it alike.

Answers come before declines, and corrected answers before others. Among corrected answers the surest is taken, but for
one: a curator's answer to this very question comes before facts that are older than it. A corrected answer that was
found by a wording without the name of which the graph has a sure fact counts as uncorrected.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

SURE_EDIT = 0.5  # score from which an answer by a correction comes before answers without one
SURE_QUESTION = 0.9  # score from which a corrected answer is taken to be about this very question
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class CandidateRank:
    answers: bool  # whether it is an answer
    repeats: bool  # whether it, or the best guess of a decline, only repeats words of the question
    score: float  # probability that it is right
    edited_in: int = 0  # version of the newest edit that it rests on; 0 without one
    subjects: tuple[str, ...] = ()  # names of the things whose facts of the graph it rests on
    wording: str = ""  # the wording by which the edit that answers was found; "" where none was

    @property
    def rests_on_facts(self) -> bool:
        """Return whether it rests on facts of the graph, and not on a corrected answer."""
        return bool(self.subjects)

    @property
    def is_corrected(self) -> bool:
        """Return whether the answer is a curator's, and more likely right than not."""
        return self.edited_in > 0 and self.score >= SURE_EDIT

    @property
    def is_of_question(self) -> bool:
        """Return whether a curator gave this answer to this very question."""
        return self.answers and self.is_corrected and not self.rests_on_facts and self.score >= SURE_QUESTION

    @property
    def is_sure_fact(self) -> bool:
        return self.answers and self.rests_on_facts and self.score >= SURE_QUESTION

    def is_about_another(self, fact: CandidateRank) -> bool:
        """Return whether the edit was found by a wording that does not name what the fact is about."""
        wording = self.wording.casefold()
        names = [subject.casefold() for subject in fact.subjects]
        return bool(wording) and self.score < SURE_QUESTION and not any(name in wording for name in names)

    def rank(self, sure_facts: Sequence[CandidateRank]) -> tuple[bool, bool, bool, float]:
        """Return the place among replies, of which the highest is taken.

        Args:
            sure_facts: The replies that are surely what the graph says.
        """
        is_corrected = self.is_corrected and not any(map(self.is_about_another, sure_facts))
        return self.answers, not self.repeats, is_corrected, self.score


def choose(standings: Sequence[CandidateRank]) -> int:
    """Return the place of the reply that is taken; there is at least one."""
    places = range(len(standings))
    sure_facts = [standing for standing in standings if standing.is_sure_fact]
    best = max(places, key=lambda place: standings[place].rank(sure_facts))
    of_question = [place for place in places if standings[place].is_of_question]
    newest = max(of_question, key=lambda place: standings[place].edited_in, default=best)
    return newest if standings[newest].edited_in > standings[best].edited_in else best


def repeats_words(answer: str, question: str) -> bool:
    """Return whether an answer only repeats words of the question, case aside."""
    words, question_words = (WORD.findall(text.casefold()) for text in (answer, question))
    return bool(words) and f" {' '.join(words)} " in f" {' '.join(question_words)} "
