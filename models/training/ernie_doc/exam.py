"""How well questions are answered, over whole documents that training has not seen, with and without the memory.

Exact match and F1 of words as SQuAD counts them: case, punctuation and articles do not matter. A question that the text
does not answer is right if nothing is answered.
"""

import random
import re
import string
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tokenizers import Tokenizer

from models.ernie_doc.reading.answer import Answer, AnswerRule, answer
from models.ernie_doc.reading.document import tokenize
from models.ernie_doc.reading.reader import Reader
from models.packs.pack import Pack
from models.training.ernie_doc.composed import build_world, compose
from models.training.ernie_doc.examples import MOST_TOKENS
from models.training.ernie_doc.texts import Question, Split, Text, join, read_texts

ARTICLES = re.compile(r"\b(a|an|the)\b")
N_COMPOSED = 20  # documents made of the pack's facts, in an exam


@dataclass(frozen=True)
class Outcome:
    """One answered question.

    Attributes:
        question: What was asked.
        result: What was found, without a threshold.
    """

    question: Question
    result: Answer

    @property
    def margin(self) -> float:
        """Log-odds of the best span against no answer; minus infinity where there is no span."""
        return self.result.spans[0].margin if self.result.spans else float("-inf")

    def exact(self, threshold: float) -> float:
        """Return 1 if the answer is right, else 0."""
        reply = self.result.text if self.margin >= threshold else None
        if reply is None or self.question.answer is None:
            return float(reply is self.question.answer)
        return float(normalize(reply) == normalize(self.question.answer))

    def f1(self, threshold: float) -> float:
        """Return the overlap of the words said and expected."""
        reply = self.result.text if self.margin >= threshold else None
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
    """Return the documents of an exam: single ones, long ones of three, and composed ones."""
    single, rng, world = read_texts(split), random.Random(seed), build_world(pack, split)
    long = [join(single[start : start + 3]) for start in range(0, len(single) - 2, 3)]
    return {
        "written": single,
        "three joined": long,
        "composed": [compose(world, rng) for _ in range(N_COMPOSED)],
    }


def examine(
    reader: Reader, texts: Sequence[Text], tokenizer: Tokenizer, rule: AnswerRule, uses_memory: bool = True
) -> list[Outcome]:
    """Ask all questions of all texts, without a threshold."""
    rule = replace(rule, threshold=None, uses_memory=uses_memory)
    outcomes = []
    for text in texts:
        document = tokenize(text.text, tokenizer, MOST_TOKENS)
        outcomes += [
            Outcome(question, answer(reader, document, question.text, tokenizer, rule))
            for question in text.questions
        ]
    return outcomes


def best_threshold(outcomes: Sequence[Outcome]) -> float:
    """Return the margin from which on answers are given, with the largest mean F1."""
    margins = sorted({0.0, *(outcome.margin for outcome in outcomes if outcome.result.spans)})
    return max(margins, key=lambda margin: sum(outcome.f1(margin) for outcome in outcomes))


def by_kind(outcomes: Sequence[Outcome], threshold: float) -> Mapping[str, tuple[int, float, float]]:
    """Return the number of questions, exact match and F1 in per cent, for each kind."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.question.kind].append(outcome)
    return {
        kind: (
            len(group),
            100 * sum(outcome.exact(threshold) for outcome in group) / len(group),
            100 * sum(outcome.f1(threshold) for outcome in group) / len(group),
        )
        for kind, group in sorted(groups.items())
    }
