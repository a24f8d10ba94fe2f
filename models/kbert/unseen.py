"""Checks answers from relations that no training has seen: does the question ask for this relation at all?

The pointer distinguishes the relations that it was trained on. Among others it takes the nearest one, even if the
relation that the question asks for is missing: a telephone number for a fax number. For these the judge of the scope
(models/scope/judge.py) reads the question beside "What is the <label> of <name>?", and its log-odds are one more
feature of the confidence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from models.confidence import Confidence
from models.kbert.query import HungRelation, Link
from models.scope.judge import Judge

WORDING = "What is the {label} of {name}?"  # question that a fact of a relation answers


@dataclass(frozen=True)
class UnseenRecord:
    """The stored part of the check.

    Attributes:
        known_labels: Labels of the relations that training has seen, and of the pack; these are not checked.
        judge: Digest of the judge that the scale was fitted with.
        scale: Scale over the features of the best option and the log-odds of the judge.
    """

    known_labels: frozenset[str]
    judge: str
    scale: Confidence

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

    def concerns(self, relation: HungRelation) -> bool:
        """Return whether the relation's label occurs in no training."""
        return relation.values[0].label.casefold() not in self.record.known_labels

    def read(self, question: str, links: Sequence[Link], relation: HungRelation) -> float:
        """Return the log-odds that the question asks for the relation of the entity on which it hangs.

        Args:
            question: The question as it was asked.
            links: Its mentions; one of them is taken for the entity.
            relation: The relation whose values are the answer.
        """
        link = next(link for link in links if link.entity.id == relation.entity.id)
        wording = WORDING.format(label=relation.values[0].label, name=question[link.start : link.end])
        readings = self.judge.encode([question, wording])
        cosine = readings.vectors[:1] @ readings.vectors[1]
        return float(self.judge([(readings.tokens[0], readings.tokens[1])], cosine)[0])
