"""Questions with a word that a fact may lack: a day, an order, an office, a time, a place, an age group, a unit.

The same question with another word, or without the word, asks for something else. coverage.toml has the questions.
"""

import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.training.scope.crowds.families import expand

FILE = Path(__file__).parent / "coverage.toml"
SUBJECT = "{s}"
SLOT = re.compile(r"\{(\w+)\}")
CURRENT = "current"  # the list of words that change nothing
PLAIN = 0.4  # share of the pairs in which a side lacks the word


@dataclass(frozen=True)
class Question:
    """A question in several wordings."""

    types: tuple[str, ...]  # types of subject that it is asked about
    frames: tuple[str, ...]  # wordings with all its words
    plain: tuple[str, ...]  # wordings without the word that makes it another question
    plain_is_one: bool  # whether these all ask for one thing


@dataclass(frozen=True)
class Coverage:
    """The questions, and the lists of words; each word has the ways to say it."""

    questions: tuple[Question, ...]
    words: Mapping[str, Sequence[Sequence[str]]]

    @staticmethod
    def read(file: Path = FILE) -> "Coverage":
        table = tomllib.loads(file.read_text("utf-8"))
        questions = []
        for row in table["questions"]:
            frames, plain = (
                tuple(text for line in row[key] for text in expand(line)) for key in ("frames", "plain")
            )
            questions.append(Question(tuple(row["types"]), frames, plain, row.get("plain_is_one", False)))
        words = {slot: [word.split("/") for word in words] for slot, words in table["words"].items()}
        return Coverage(tuple(questions), words)

    def ask(self, question: Question, rng: random.Random, *, is_same: bool) -> tuple[str, str]:
        """Ask twice, about SUBJECT: for the same, or for two things that a word tells apart."""
        fact = {slot: rng.randrange(len(words)) for slot, words in self.words.items()}
        has_word = (is_same and not question.plain_is_one) or rng.random() >= PLAIN
        first = rng.choice(question.frames)
        second = rng.choice(question.frames if has_word else question.plain)
        if is_same and not has_word:
            first = rng.choice(question.plain)
        other = self._another(fact, second, rng) if has_word and not is_same else fact
        return self._write(first, fact, rng), self._write(second, other, rng)

    def _another(self, fact: Mapping[str, int], frame: str, rng: random.Random) -> Mapping[str, int]:
        """Return the fact with another word in one slot of the frame."""
        slot = rng.choice([slot for slot in SLOT.findall(frame) if slot in self.words and slot != CURRENT])
        n_words = len(self.words[slot])
        return {**fact, slot: (fact[slot] + rng.randrange(1, n_words)) % n_words}

    def _write(self, frame: str, fact: Mapping[str, int], rng: random.Random) -> str:
        def word(match: re.Match[str]) -> str:
            slot = match[1]
            return match[0] if slot not in fact else rng.choice(self.words[slot][fact[slot]])

        return SLOT.sub(word, frame)
