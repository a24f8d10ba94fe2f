"""The exam: all questions of written passages and documents that training has not read."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from models.confidence import Confidence
from models.reading.reader import Reader
from models.training.kit.card import percent
from models.training.kit.exam import Figures
from models.training.reading.outcomes import Outcome
from models.training.reading.written.texts import PASSAGES, Question, Split, Text, read_texts
from models.training.reading.written.variants import NAME, find_names


def exam_texts(split: Split) -> Mapping[str, Sequence[Text]]:
    """Return the texts of a split by their hand."""
    return {"documents": read_texts(split)} | {
        f"passages {path.stem}": read_texts(split, PASSAGES, path.name)
        for path in sorted(PASSAGES.glob("*.jsonl"))
    }


def examine(reader: Reader, texts: Sequence[Text]) -> list[Outcome]:
    """Ask all questions of all texts."""
    return [
        Outcome(question, finding.spans, finding.n_windows)
        for text in texts
        for question in text.questions
        for finding in [reader.find(question.text, text.text)]
    ]


def measure_corrections(
    examine_text: Callable[[Text], Sequence[Outcome]], texts: Sequence[Text], scale: Confidence
) -> Figures:
    """Replace the names and numbers of one right answer at a time in its text, and ask all questions again.

    Returns:
        Shares, in per cent, of the corrections that the answer follows, and of other answers about the same text that
        stay as they were; and the numbers of both.
    """
    pool, rng = sorted({name for text in texts for name in find_names(text.text)}), random.Random(1)
    follow, stay = [], []
    for text in texts:
        before = examine_text(text)
        for place, outcome in enumerate(before):
            if outcome.question.answer is None or not outcome.exact(scale):
                continue
            version = correct(text, outcome.question, pool, rng)
            if version is None:
                continue
            after = examine_text(version)
            follow.append(bool(after[place].exact(scale)))
            pairs = enumerate(zip(before, after, strict=True))
            stay += [old.reply(scale) == new.reply(scale) for other, (old, new) in pairs if other != place]
    return {
        "follow": percent(follow),
        "n_follow": len(follow),
        "stay": percent(stay),
        "n_stay": len(stay),
    }


def correct(text: Text, question: Question, pool: Sequence[str], rng: random.Random) -> Text | None:
    """Return a text in which one answer has other names and numbers; None if it has none, or is an answer twice."""
    assert question.answer is not None
    assert question.start is not None
    words = NAME.sub(lambda match: rng.choice(pool), question.answer)
    answer = re.sub(r"\d", lambda match: str((int(match[0]) + rng.randint(1, 9)) % 10), words)
    end, shift = question.start + len(question.answer), len(answer) - len(question.answer)
    if answer == question.answer or text.text.count(question.answer) > 1:
        return None
    questions = []
    for other in text.questions:
        if other == question:
            other = replace(other, answer=answer)
        elif other.start is not None and other.start >= end:
            other = replace(other, start=other.start + shift)
        elif other.start is not None and other.start + len(other.answer or "") > question.start:
            return None
        questions.append(other)
    return replace(
        text, text=text.text[: question.start] + answer + text.text[end:], questions=tuple(questions)
    )
