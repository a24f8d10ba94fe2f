"""The exam: questions about whole documents that training has not seen, with and without the memory.

Exact match and F1 of words are counted as in SQuAD: case, punctuation and articles do not matter. A question that the
text does not answer is right if no answer is given.
"""

import random
import re
import string
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tokenizers import Tokenizer

from models.confidence import Confidence, calibration_error
from models.ernie_doc.confidence import rate
from models.ernie_doc.reading.answer import Answer, AnswerRule, answer
from models.ernie_doc.reading.choosing import Chooser
from models.ernie_doc.reading.document import tokenize
from models.ernie_doc.reading.reader import Reader
from models.packs.pack import Pack
from models.training.ernie_doc.composed import MIDDLE, build_world, compose, compose_long
from models.training.ernie_doc.examples import MOST_TOKENS
from models.training.ernie_doc.texts import Question, Split, Text, join, read_texts

ARTICLES = re.compile(r"\b(a|an|the)\b")
N_COMPOSED = 20  # documents made of the pack's facts, in an exam
LONGEST = "20,000 tokens"  # name of the longest documents, which are read in one way only
READINGS: Mapping[str, Mapping[str, Any]] = {
    "with": {},
    "without": {"uses_memory": False},
    "twice": {"is_retrospective": True},
}
"""Name of a way of reading -> its fields of an `AnswerRule`."""
NAMES_OF_COMPOSED = ("composed", "2,000 tokens")  # documents that are read twice, too
LONG_PARTS = 8  # parts of the longest documents, of 2,000 tokens each
N_ASKED = 25  # questions to one document of that length; each reads some 200 windows
N_LONG = {"choose": 1, "test": 2}  # documents of that length


@dataclass(frozen=True)
class Outcome:
    """One answered question.

    Attributes:
        question: The question.
        result: The spans that were found, before any is withheld.
    """

    question: Question
    result: Answer

    @property
    def is_best_right(self) -> bool:
        """True if the best span is the answer."""
        expected = self.question.answer
        spans = self.result.spans
        return expected is not None and bool(spans) and normalize(spans[0].text) == normalize(expected)

    def score(self, scale: Confidence) -> float:
        """Return the probability that the best span is right; 0 without a span."""
        return (
            rate(self.result.spans, len(self.result.choice.numbers), scale)[0] if self.result.spans else 0.0
        )

    def reply(self, scale: Confidence) -> str | None:
        """Return the service's answer."""
        return (
            self.result.spans[0].text if self.result.spans and self.score(scale) >= scale.threshold else None
        )

    def exact(self, scale: Confidence) -> float:
        """Return 1 if the answer is right, else 0."""
        reply = self.reply(scale)
        if reply is None or self.question.answer is None:
            return float(reply is self.question.answer)
        return float(self.is_best_right)

    def f1(self, scale: Confidence) -> float:
        """Return the overlap of the words of the answer and the expected ones."""
        reply = self.reply(scale)
        if reply is None or self.question.answer is None:
            return float(reply is self.question.answer)
        words, expected = normalize(reply).split(), normalize(self.question.answer).split()
        common = sum((Counter(words) & Counter(expected)).values())
        return 2 * common / (len(words) + len(expected)) if common else 0.0


def normalize(text: str) -> str:
    """Return a text without case, punctuation and articles."""
    plain = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(ARTICLES.sub(" ", plain).split())


def exam_texts(pack: Pack, split: Split, seed: int) -> dict[str, Sequence[Text]]:
    """Return the documents of an exam: single ones, three joined, and composed ones of several lengths."""
    single, rng, world = read_texts(split), random.Random(seed), build_world(pack, split)
    triples = [join(single[start : start + 3]) for start in range(0, len(single) - 2, 3)]
    longest = [compose_long(world, LONG_PARTS, rng) for _ in range(N_LONG.get(split, 0))]
    return {
        "written": single,
        "three joined": triples,
        "composed": [compose(world, MIDDLE, rng) for _ in range(N_COMPOSED)],
        "2,000 tokens": [compose_long(world, 1, rng) for _ in range(N_COMPOSED // 2)],
        LONGEST: [replace(text, questions=tuple(rng.sample(text.questions, N_ASKED))) for text in longest],
    }


def examine(
    reader: Reader,
    chooser: Chooser,
    texts: Sequence[Text],
    tokenizer: Tokenizer,
    rule: AnswerRule,
) -> list[Outcome]:
    """Ask all questions of all texts."""
    outcomes = []
    for text in texts:
        document = tokenize(text.text, tokenizer, MOST_TOKENS)
        outcomes += [
            Outcome(question, answer(reader, chooser, document, question.text, tokenizer, rule))
            for question in text.questions
        ]
    return outcomes


def readings_of(name: str) -> list[str]:
    """Return the ways in which documents of a name are read."""
    if name == LONGEST:
        return ["with"]
    return ["with", "without", "twice"] if name in NAMES_OF_COMPOSED else ["with", "without"]


class Figures(NamedTuple):
    """The figures of one group of outcomes, in per cent and points."""

    questions: int
    exact: float
    f1: float
    wrong: float
    calibration_error: float


def by_kind(outcomes: Sequence[Outcome], scale: Confidence) -> Mapping[str, Figures]:
    """Return the figures of each kind of question, and of all."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.question.kind].append(outcome)
        groups["all"].append(outcome)
    return {kind: grade(group, scale) for kind, group in sorted(groups.items())}


def grade(outcomes: Sequence[Outcome], scale: Confidence) -> Figures:
    """Return the figures of a group; an answer that is given and not right counts as wrong."""
    exact = [outcome.exact(scale) for outcome in outcomes]
    n_wrong = sum(
        outcome.reply(scale) is not None and not right for outcome, right in zip(outcomes, exact, strict=True)
    )
    error = calibration_error(
        [outcome.score(scale) for outcome in outcomes], [outcome.is_best_right for outcome in outcomes]
    )
    share = 100 / len(outcomes)
    return Figures(
        len(outcomes),
        share * sum(exact),
        share * sum(outcome.f1(scale) for outcome in outcomes),
        share * n_wrong,
        error,
    )
