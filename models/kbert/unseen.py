"""Checks answers from relations that no training has seen, or before whose label a word stands in the question.

Does the question ask for this relation at all?

The pointer distinguishes the relations that it was trained on. Among others it takes the nearest one, even if the
relation that the question asks for is missing: a telephone number for a fax number. For these the judge of the scope
(models/scope/judge.py) reads the question beside "What is the <label> of <name>?". What its layers say, and the
cosine of the two, are further features of the confidence. So it does for the director of a museum where the deputy
director is asked for.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import compress, islice
from typing import Any, NamedTuple

from models.confidence import Confidence
from models.kbert.query import InjectedRelation, Link
from models.kit.days import find_day, without_day
from models.packs.own_question import OwnFact, OwnQuestions
from models.scope.judge import Judge
from models.system import UNSURE, Reason

WORD = re.compile(r"[\w-]+")
BEFORE_LABEL = r"\b(?!(?:the|an?|s)\b)[\w-]+ {label}\b"  # a word before a label, as in "deputy director"
LIKE_A_WORD = (
    0.45  # cosine from which a word of the question is of a kind with a word that tells labels apart
)
MOST_LABELS = 5  # labels that a decline names
WORDINGS: Sequence[str] = ("What is the {label} of {name}?",)  # questions that a fact of a relation answers
WORDINGS_TODAY = (*WORDINGS, "What is the {label} of {name} today?")  # likewise, of one with a time
WORDINGS_THEN = (*WORDINGS, "What was the {label} of {name}?")  # on a day that is left out


class Query(NamedTuple):
    """A question, its mentions, and the relation of one of their entities that would answer it."""

    question: str
    links: Sequence[Link]
    relation: InjectedRelation

    @property
    def link(self) -> Link:
        """The mention on which the relation hangs."""
        return next(link for link in self.links if link.entity.id == self.relation.entity.id)

    @property
    def own_fact(self) -> tuple[str, OwnFact]:
        """The question, and the fact of the pack that it would be answered from."""
        return self.question, OwnFact(self.relation.values[0].relation, self.link.start, self.link.end)

    def spell(self) -> list[str]:
        """Return the question without its day, and the questions that a fact of the relation answers."""
        question, link, wordings = self.question, self.link, WORDINGS
        if self.relation.has_period:
            day = find_day(f"{question[: link.start]} {question[link.end :]}")
            wordings = WORDINGS_THEN if day else WORDINGS_TODAY
            question = without_day(question, day)
        name, label = self.question[link.start : link.end], self.relation.values[0].label
        return [question, *(text.format(label=label, name=name) for text in wordings)]


@dataclass(frozen=True)
class UnseenRecord:
    """The stored part of the check."""

    # Labels of the relations that training has seen, and of the pack; these are not checked
    known_labels: frozenset[str]
    judge: str  # digest of the judge that the scale was fitted with
    scale: Confidence  # scale over the features of the best option and those of the judge

    @staticmethod
    def parse(raw: Mapping[str, Any]) -> "UnseenRecord":
        """Return the record that `to_json` described."""
        return UnseenRecord(frozenset(raw["known_labels"]), str(raw["judge"]), Confidence.parse(raw["scale"]))

    def to_json(self) -> dict[str, Any]:
        return {"known_labels": sorted(self.known_labels), "judge": self.judge, "scale": asdict(self.scale)}


@dataclass(frozen=True)
class UnseenCheck:
    """The check with its judge loaded. Threads may share it."""

    record: UnseenRecord
    judge: Judge
    own_questions: OwnQuestions | None = None

    def rate(self, queries: Sequence[Query]) -> list[float | None]:
        """Return how likely each question asks for its relation of the pack; None if it is none of the pack."""
        check = self.own_questions
        if check is None:
            return [None] * len(queries)
        relations = check.pack.relations
        belongs = [
            query.relation.values[0].relation in relations and not query.relation.has_period
            for query in queries
        ]
        scores = iter(check.rate([query.own_fact for query in compress(queries, belongs)]))
        return [next(scores) if is_own else None for is_own in belongs]

    def find_doubt(self, query: Query, score: float | None) -> Reason | None:
        """Return why a question may not ask for its relation of the pack, by its rating; None if it surely does."""
        check = self.own_questions
        if check is None or score is None or score >= check.scale.threshold:
            return None
        return check.decline(*query.own_fact)

    def concerns(self, question: str, relation: InjectedRelation) -> bool:
        """Return whether the relation's label occurs in no training, or behind a word that may make it another one.

        Trainings have no facts with a time either.
        """
        label = relation.values[0].label
        if relation.has_period:
            return True
        if label.casefold() not in self.record.known_labels:
            return True
        pattern = BEFORE_LABEL.format(label=re.escape(label))
        return re.search(pattern, question, re.IGNORECASE) is not None

    def describe_gap(self, query: Query) -> Reason:
        """Return why a fact that is near does not answer: the word of the question that it lacks, and the known labels.

        The word is one that no label of the entity has, and of a kind with those that tell its labels apart: Monday
        beside Tuesday and Sunday.
        """
        question, link, relation = query.question, query.link, query.relation
        name, label = question[link.start : link.end], relation.values[0].label
        all_labels = dict.fromkeys(fact.label for fact in (*relation.values, *link.entity.facts))
        labels = [other for other in all_labels if _words(other) & _words(label)][:MOST_LABELS]
        words_of_labels = [_words(other) for other in labels]
        apart = set[str]().union(*words_of_labels) - words_of_labels[0].intersection(*words_of_labels)
        rest = f"{question[: link.start]} {question[link.end :]}"
        known_words = set[str]().union(*map(_words, all_labels))
        words = [word for word in WORD.findall(rest) if word.casefold() not in known_words]
        near = ", ".join(labels)
        if words and apart & _words(label) and not apart & _words(rest):
            vectors = self.judge.encode([*words, *sorted(apart)]).vectors
            likeness, place = (vectors[: len(words)] @ vectors[len(words) :].T).amax(1).max(0)
            if likeness >= LIKE_A_WORD:
                sentence = f"Nothing is known of {name} about {words[int(place)]}, only: {near}."
                return Reason(UNSURE, sentence)
        return Reason(UNSURE, f"No fact that is known of {name} surely answers this; the nearest: {near}.")

    def read(self, queries: Sequence[Query]) -> list[tuple[float, float]]:
        """Return what the judge finds of each question and the relation of the entity on which it hangs.

        These are the output of its layers and the cosine, without the calibration, which holds for people's questions.
        """
        if not queries:
            return []
        groups = [query.spell() for query in queries]
        readings = self.judge.encode([text for group in groups for text in group])
        pairs, cosines, start = [], [], 0
        for group in groups:
            end = start + len(group)
            pairs += [(readings.tokens[start], tokens) for tokens in readings.tokens[start + 1 : end]]
            cosines += (readings.vectors[start + 1 : end] @ readings.vectors[start]).tolist()
            start = end
        features = zip(self.judge.read_pairs(pairs).tolist(), cosines, strict=True)
        return [max(islice(features, len(group) - 1)) for group in groups]


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.casefold()))
