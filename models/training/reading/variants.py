"""Variants of a text and its question that keep the answer true: other names, sentences around it, slips."""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from models.training.ernie_doc.texts import Question, Text
from models.training.scope.rewrites import misspell

NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
NUMBER = re.compile(r"(?<![\d.,:])\d{2,3}(?![\d.,:])")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“])")
LEAST_LETTERS = 4  # letters of a word that is misspelt


def find_names(text: str) -> list[str]:
    """Return the words that the text writes with a capital inside a sentence, and never without."""
    inside = {
        match[0]
        for match in NAME.finditer(text)
        if text[: match.start()].rstrip()[-1:] not in ("", *'.!?"“:')
    }
    return sorted(name for name in inside if not re.search(rf"\b{name.lower()}\b", text))


def replace_names(
    text: Text, question: Question, pool: Sequence[str], rng: random.Random
) -> tuple[Text, Question]:
    """Replace names and numbers by others throughout, in the text, the question and its answer.

    Args:
        text: The text.
        question: One of its questions.
        pool: Names of other texts.
        rng: Source of all draws.
    """
    names = find_names(text.text)
    words = dict(zip(names, rng.sample(pool, len(names)), strict=True)) if len(names) <= len(pool) else {}
    numbers = {match[0] for match in NUMBER.finditer(text.text)}
    words |= {
        number: str(rng.randrange(10 ** (len(number) - 1), 10 ** len(number))) for number in sorted(numbers)
    }
    if not words:
        return text, question
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, words)) + r")\b")

    def write(part: str) -> str:
        return pattern.sub(lambda match: words[match[0]], part)

    other = replace(text, text=write(text.text))
    if question.answer is None or question.start is None:
        return other, replace(question, text=write(question.text))
    start, end = question.start, question.start + len(question.answer)
    if any(
        match.start() < edge < match.end() for match in pattern.finditer(text.text) for edge in (start, end)
    ):
        return text, question
    before, answer = write(text.text[:start]), write(text.text[start:end])
    if other.text[len(before) : len(before) + len(answer)] != answer:
        return text, question
    return other, replace(question, text=write(question.text), answer=answer, start=len(before))


def add_distractors(text: Text, question: Question, other: Text, rng: random.Random) -> tuple[Text, Question]:
    """Put some sentences of another text before or behind a text."""
    sentences = SENTENCE.split(other.text)
    first = rng.randrange(len(sentences))
    part = " ".join(sentences[first : first + rng.randint(1, 4)])
    if rng.random() < 0.5:
        return replace(text, text=f"{text.text} {part}"), question
    return replace(text, text=f"{part} {text.text}"), question.shift(len(part) + 1)


def retype(question: str, slip: float, bare: float, rng: random.Random) -> str:
    """Return a question as people type it: with a slip in a word, or in small letters without its mark."""
    words = question.split(" ")
    long = [place for place, word in enumerate(words) if len(word) >= LEAST_LETTERS and word.isalpha()]
    if long and rng.random() < slip:
        place = rng.choice(long)
        words[place] = misspell(words[place], rng)
    question = " ".join(words)
    return question.rstrip("?").lower() if rng.random() < bare else question
