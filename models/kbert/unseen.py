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
from typing import Any

from models.confidence import Confidence
from models.kbert.query import HungRelation, Link
from models.packs.own_question import OwnFact, OwnQuestions
from models.scope.judge import Judge
from models.system import UNSURE, Reason

WORD = re.compile(r"[\w-]+")
BEFORE_LABEL = r"\b(?!(?:the|an?|s)\b)[\w-]+ {label}\b"  # a word before a label, as in "deputy director"
LIKE_A_WORD = (
    0.45  # cosine from which a word of the question is of a kind with a word that tells labels apart
)
MOST_LABELS = 5  # labels that a decline names
WORDING = "What is the {label} of {name}?"  # question that a fact of a relation answers


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

    def doubt(
        self, question: str, links: Sequence[Link], relation: HungRelation
    ) -> tuple[float, Reason] | None:
        """Return how likely a question asks for a relation of the pack, and why not; None if it surely does."""
        name, check = relation.values[0].relation, self.own_questions
        if check is None or name not in check.pack.relations:
            return None
        link = next(link for link in links if link.entity.id == relation.entity.id)
        fact = OwnFact(name, link.start, link.end)
        [score] = check.rate([(question, fact)])
        return None if score >= check.scale.threshold else (score, check.decline(question, fact))

    def concerns(self, question: str, relation: HungRelation) -> bool:
        """Return whether the relation's label occurs in no training, or behind a word that may make it another one."""
        label = relation.values[0].label
        if label.casefold() not in self.record.known_labels:
            return True
        pattern = BEFORE_LABEL.format(label=re.escape(label))
        return re.search(pattern, question, re.IGNORECASE) is not None

    def describe_gap(self, question: str, links: Sequence[Link], relation: HungRelation) -> Reason:
        """Return why a fact that is near does not answer: the word of the question that it lacks, and the known labels.

        The word is one that no label of the entity has, and of a kind with those that tell its labels apart: Monday
        beside Tuesday and Sunday.
        """
        link = next(link for link in links if link.entity.id == relation.entity.id)
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

    def read(self, question: str, links: Sequence[Link], relation: HungRelation) -> tuple[float, float]:
        """Return what the judge finds of the question and the relation of the entity on which it hangs.

        These are the output of its layers and the cosine, without the calibration, which holds for people's questions.

        Args:
            links: Its mentions; one of them is taken for the entity.
        """
        link = next(link for link in links if link.entity.id == relation.entity.id)
        wording = WORDING.format(label=relation.values[0].label, name=question[link.start : link.end])
        readings = self.judge.encode([question, wording])
        cosine = float(readings.vectors[0] @ readings.vectors[1])
        return float(self.judge.read_pairs([(readings.tokens[0], readings.tokens[1])])[0]), cosine


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.casefold()))
