"""Variants of a text and its question that keep the answer true: other names, sentences around it, slips, echoes."""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from models.training.kit.plan import Plan
from models.training.reading.written.texts import Question, Text
from models.training.scope.rewrites import misspell

NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
NUMBER = re.compile(r"(?<![\d.,:])\d{2,3}(?![\d.,:])")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“])")
QUESTION_WORD = re.compile(
    r"(?:In|At|On|For|To|From|By|With) (?:which|what|whom) \w+|(?:What|Which) \w+|How \w+|Who|When|Where|Why"
)
LEAST_LETTERS = 4  # letters of a word that is misspelt


def find_names(text: str) -> list[str]:
    """Return the words that the text writes with a capital inside a sentence, and never without."""
    inside = {
        match[0]
        for match in NAME.finditer(text)
        if text[: match.start()].rstrip()[-1:] not in ("", *'.!?"“:')
    }
    return sorted(name for name in inside if not re.search(rf"\b{name.lower()}\b", text))


def replace_names(text: Text, pool: Sequence[str], rng: random.Random) -> Text:
    """Replace names, by those of `pool`, and numbers throughout, in the text, its questions and their answers.

    A text stays as it is if an answer would begin or end inside a name.
    """
    names = find_names(text.text)
    words = dict(zip(names, rng.sample(pool, len(names)), strict=True)) if len(names) <= len(pool) else {}
    for number in sorted({match[0] for match in NUMBER.finditer(text.text)}):
        words[number] = str(rng.randrange(10 ** (len(number) - 1), 10 ** len(number)))
    if not words:
        return text
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, words)) + r")\b")

    def write(part: str) -> str:
        return pattern.sub(lambda match: words[match[0]], part)

    whole, questions = write(text.text), []
    for question in text.questions:
        answer, start = question.answer, question.start
        if answer is not None and start is not None:
            before, answer = write(text.text[:start]), write(answer)
            start = len(before)
            if whole[start : start + len(answer)] != answer:
                return text
        questions.append(replace(question, text=write(question.text), answer=answer, start=start))
    return replace(text, text=whole, questions=tuple(questions))


def add_distractors(text: Text, other: Text, rng: random.Random) -> Text:
    """Put some sentences of another text before or behind a text."""
    sentences = SENTENCE.split(other.text)
    first = rng.randrange(len(sentences))
    part = " ".join(sentences[first : first + rng.randint(1, 4)])
    if rng.random() < 0.5:
        return replace(text, text=f"{text.text} {part}")
    questions = tuple(question.shift(len(part) + 1) for question in text.questions)
    return replace(text, text=f"{part} {text.text}", questions=questions)


def retype(question: str, slip: float, bare: float, rng: random.Random) -> str:
    """Return a question as people type it: with a slip in a word, or in small letters without its mark."""
    words = question.split(" ")
    long = [place for place, word in enumerate(words) if len(word) >= LEAST_LETTERS and word.isalpha()]
    if long and rng.random() < slip:
        place = rng.choice(long)
        words[place] = misspell(words[place], rng)
    question = " ".join(words)
    return question.rstrip("?").lower() if rng.random() < bare else question


def echo(text: Text, question: Question) -> str:
    """Return a question in the words of the sentence that answers it, or as it is where no question word fits.

    People word their questions unlike the text, and those that it does not answer like it; so without echoes a reader
    learns that many words in common mean no answer.
    """
    word = QUESTION_WORD.match(question.text)
    if word is None or question.answer is None or question.start is None:
        return question.text
    begin, end = question.start, question.start + len(question.answer)
    before, after = SENTENCE.split(text.text[:begin])[-1], SENTENCE.split(text.text[end:])[0]
    first, _, rest = before.strip().partition(" ")
    before = first if first[:1].isupper() and not rest and len(first) < 3 else f"{first.lower()} {rest}"
    return " ".join(f"{word[0]} {before} {after}".split()).rstrip(".!?, ") + "?"


class Variation:
    """Draws variants of written texts, whose names and sentences are put into each other."""

    def __init__(self, texts: Sequence[Text], mixture: Plan) -> None:
        self._texts, self._mixture = texts, mixture
        self._names = sorted({name for text in texts for name in find_names(text.text)})

    def draw(self, text: Text, rng: random.Random) -> Text:
        """Return a variant of a text, with all of its questions."""
        mixture = self._mixture
        if rng.random() < mixture.exchange_share:
            text = replace_names(text, self._names, rng)
        if rng.random() < mixture.distractor_share:
            text = add_distractors(text, rng.choice(self._texts), rng)
        questions = []
        for question in text.questions:
            words = echo(text, question) if rng.random() < mixture.echo_share else question.text
            questions.append(replace(question, text=retype(words, mixture.slip, mixture.bare, rng)))
        return replace(text, questions=tuple(questions))
