"""Answers against the expected ones: exact match, F1 of words, wrong answers and calibration error.

Exact match and F1 are counted as in SQuAD: case, punctuation and articles do not matter. A question that the text does
not answer is right if no answer is given.
"""

import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from models.confidence import Confidence, calibration_error
from models.reading.confidence import rate
from models.reading.spans import Span
from models.training.kit.exam import Figures
from models.training.reading.written.texts import Question

ARTICLES = re.compile(r"\b(a|an|the)\b")


@dataclass(frozen=True)
class Outcome:
    """One answered question."""

    question: Question
    spans: Sequence[Span]  # the spans that were found, the best first, before any is withheld
    n_windows: int  # windows that were asked

    @property
    def is_best_right(self) -> bool:
        """True if the best span is the answer."""
        expected, best = self.question.answer, self.spans[0].text if self.spans else None
        return expected is not None and best is not None and normalize(best) == normalize(expected)

    def score(self, scale: Confidence) -> float:
        """Return the probability that the best span is right; 0 without a span."""
        return rate(self.spans, self.n_windows, scale)[0] if self.spans else 0.0

    def reply(self, scale: Confidence) -> str | None:
        """Return the service's answer."""
        return self.spans[0].text if self.spans and self.score(scale) >= scale.threshold else None

    def exact(self, scale: Confidence) -> float:
        """Return 1 if the answer is right, else 0."""
        return self._compare(scale, lambda answer, expected: float(normalize(answer) == normalize(expected)))

    def f1(self, scale: Confidence) -> float:
        """Return the overlap of the words of the answer and the expected ones."""
        return self._compare(scale, count_overlap)

    def _compare(self, scale: Confidence, compare: Callable[[str, str], float]) -> float:
        """Compare the answer with the expected one; without one of them, to have neither is right."""
        reply, expected = self.reply(scale), self.question.answer
        return float(reply is expected) if reply is None or expected is None else compare(reply, expected)


def count_overlap(answer: str, expected: str) -> float:
    """Return the harmonic mean of precision and recall of words."""
    words, expected_words = normalize(answer).split(), normalize(expected).split()
    common = sum((Counter(words) & Counter(expected_words)).values())
    return 2 * common / (len(words) + len(expected_words)) if common else 0.0


def normalize(text: str) -> str:
    """Return a text without case, punctuation and articles."""
    plain = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(ARTICLES.sub(" ", plain).split())


def by_kind(outcomes: Sequence[Outcome], scale: Confidence) -> Mapping[str, Figures]:
    """Return the figures of each kind of question, and of all."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.question.kind].append(outcome)
        groups["all"].append(outcome)
    return {kind: grade(group, scale) for kind, group in sorted(groups.items())}


def grade(outcomes: Sequence[Outcome], scale: Confidence) -> Figures:
    """Return the figures of a group, in per cent and points; an answer that is given and not right counts as wrong."""
    exact = [outcome.exact(scale) for outcome in outcomes]
    is_given = [outcome.reply(scale) is not None for outcome in outcomes]
    n_wrong = sum(has_reply and not right for has_reply, right in zip(is_given, exact, strict=True))
    scores = [outcome.score(scale) for outcome in outcomes]
    share = 100 / len(outcomes)
    return {
        "questions": len(outcomes),
        "exact": share * sum(exact),
        "f1": share * sum(outcome.f1(scale) for outcome in outcomes),
        "wrong": share * n_wrong,
        "calibration_error": calibration_error(scores, [outcome.is_best_right for outcome in outcomes]),
    }
