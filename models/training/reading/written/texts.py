"""Texts with questions, whose answers are parts of them, and the documents and passages that were written by hand.

Whole texts are for training, for choosing or for the test, by the SHA-256 of their id; one hand is for the test alone.
"""

import hashlib
import json
import random
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

DOCUMENTS = Path(__file__).parent / "documents"
PASSAGES = Path(__file__).parent / "passages"
# File of passages for the test alone. The reader before had read its training split, which is left out.
HELD_HAND = "c"
Split = Literal["train", "choose", "test"]
PARAGRAPH_END = re.compile(r"\n\n+")
SHARES = {"test": 15, "choose": 15}  # per cent of the documents; the rest is for training
Kind = Literal["plain", "linked", "unanswerable", "alias", "steps"]


@dataclass(frozen=True)
class Question:
    """A question about a text."""

    text: str  # the question in people's words
    answer: str | None  # part of the text, or None if the text does not say
    start: int | None  # first character of the answer
    # Need of an answer: `plain` one place, `linked` two, `alias` a name that the subject was given before,
    # `steps` a fact about the value of another fact
    kind: Kind

    def shift(self, offset: int) -> "Question":
        """Return the question for a longer text, in which its text begins at an offset."""
        return self if self.start is None else replace(self, start=self.start + offset)


@dataclass(frozen=True)
class Text:
    """A document with its questions."""

    title: str
    text: str
    questions: tuple[Question, ...]


def split_of(id: str) -> Split:
    """Return the split of a document, which depends on its id alone."""
    place = int.from_bytes(hashlib.sha256(id.encode()).digest()[:4], "big") % 100
    if place < SHARES["test"]:
        return "test"
    return "choose" if place < SHARES["test"] + SHARES["choose"] else "train"


def read_texts(split: Split, folder: Path = DOCUMENTS, files: str = "*.jsonl") -> tuple[Text, ...]:
    """Read the documents of a folder in a split, without the answers that stand inside another word.

    Raises:
        ValueError: An answer is not at the place that its question names.
    """
    paths = sorted(folder.glob(files))
    rows = [(path, json.loads(line)) for path in paths for line in path.read_text("utf-8").splitlines()]
    texts = []
    for path, row in rows:
        is_held = path.stem == HELD_HAND and split_of(row["id"]) != "train"
        if (split != "test") if is_held else (path.stem == HELD_HAND or split_of(row["id"]) != split):
            continue
        questions = [
            Question(q["question"], q["answer"], q.get("start"), q["kind"]) for q in row["questions"]
        ]
        for question in questions:
            check(question, row["text"], row["id"])
        whole = tuple(question for question in questions if is_whole(question, row["text"]))
        texts.append(Text(row["title"], row["text"], whole))
    return tuple(texts)


def check(question: Question, text: str, id: str) -> None:
    """Raise ValueError if the answer of a question is not at the place that it names."""
    if question.answer is None or question.start is None:
        return
    if text[question.start : question.start + len(question.answer)] != question.answer:
        raise ValueError(f"{id}: {question.answer!r} does not stand at {question.start} of the text")


def is_whole(question: Question, text: str) -> bool:
    """Return True if no letter or digit touches the answer."""
    if question.answer is None or question.start is None:
        return True
    end = question.start + len(question.answer)
    around = text[max(0, question.start - 1) : question.start] + text[end : end + 1]
    return not any(character.isalnum() for character in around)


def excerpt(text: Text, least_chars: int, rng: random.Random) -> Text:
    """Return consecutive paragraphs of a document, of at least so many characters if it has them.

    A question whose answer stands elsewhere is left out, for the excerpt may answer it in other words.
    """
    firsts = [0, *(match.end() for match in PARAGRAPH_END.finditer(text.text))]
    starts = [first for first in firsts if len(text.text) - first >= least_chars] or [0]
    start = rng.choice(starts)
    end = min([first for first in firsts if first - start >= least_chars], default=len(text.text))
    inside = [
        q
        for q in text.questions
        if q.answer is None or (q.start is not None and start <= q.start and q.start + len(q.answer) <= end)
    ]
    return Text(text.title, text.text[start:end], tuple(question.shift(-start) for question in inside))
