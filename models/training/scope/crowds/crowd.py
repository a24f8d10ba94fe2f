"""Crowds: names that look alike, as a curator's file has them: towns, people, companies, models, ships, laws, codes.

A crowd is one pattern of crowds.toml whose words are partly the same in all names, or real names that share a word,
a beginning, an end, or all letters but one.
"""

import itertools
import random
import re
import string
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SIZE = 8  # names of a crowd
INVENTED_NAMES = 0.3  # share of the first and last names that are made of syllables
OF_WORDS = 0.2  # share of the stems that are words
REAL, NEIGHBOUR = 0.3, 0.15  # shares of real crowds, and of names one letter away
LARGEST_GROUP = 400  # names that share a word; with more, the word tells little
GROUP_WEIGHTS = {"word": 5, "begin": 2, "end": 2, "letter": 2, "type": 2}
SLOT = re.compile(r"\{(\w+)\}|\[([^\]]*)\]")
TITLE = "{title}"  # another title does not make another person
WITH_LETTERS = frozenset(("town", "person", "sight", "real"))  # styles in which a letter makes another name


@dataclass(frozen=True)
class Crowd:
    """Different names that look alike, and the types of subject that they may be."""

    style: str
    types: tuple[str, ...]
    names: tuple[str, ...]


@cache
def read_words() -> Mapping[str, Sequence[Any]]:
    """Read the words of which names are made."""
    return tomllib.loads((FOLDER / "words.toml").read_text("utf-8"))


@cache
def read_styles() -> Mapping[str, Mapping[str, Any]]:
    """Read the styles of crowds and their patterns."""
    return tomllib.loads((FOLDER / "crowds.toml").read_text("utf-8"))


class RealCrowds:
    """Crowds of the names that `by_type` lists."""

    def __init__(self, by_type: Mapping[str, Sequence[str]]) -> None:
        groups: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for type, names in by_type.items():
            for name in names:
                for key in _likenesses(name, type):
                    groups[key][name] = type
        self._groups: dict[str, list[dict[str, str]]] = defaultdict(list)
        for (kind, _), group in sorted(groups.items()):
            if len(group) > 1 and (len(group) <= LARGEST_GROUP or kind == "type"):
                self._groups[kind].append(group)

    def draw(self, rng: random.Random) -> Crowd:
        kinds = sorted(self._groups)
        group = rng.choice(self._groups[rng.choices(kinds, [GROUP_WEIGHTS[kind] for kind in kinds])[0]])
        names = rng.sample(sorted(group), min(SIZE, len(group)))
        types = dict.fromkeys(group[name] for name in names)  # a set would have another order in each process
        return Crowd("real", tuple(types), tuple(names))


def _likenesses(name: str, type: str) -> list[tuple[str, str]]:
    """Return what the name shares with others: a word; of single words a beginning, an end, all letters but one."""
    words = [word.strip(",.:;!?()").lower() for word in name.split()]
    keys = [("type", type), *(("word", word) for word in words if len(word) > 2)]
    if len(words) == 1:
        low = words[0]
        keys += [("begin", low[:3]), ("end", low[-4:])]
        keys += [("letter", f"{place} {low[:place]}{low[place + 1 :]}") for place in range(len(low))]
    return keys


def draw_crowd(rng: random.Random, real: RealCrowds) -> Crowd:
    """Draw a crowd of two names or more."""
    while True:
        crowd = real.draw(rng) if rng.random() < REAL else invent_crowd(rng)
        names = tuple({name.casefold(): name for name in crowd.names}.values())
        if len(names) > 1:
            return Crowd(crowd.style, crowd.types, names)


def invent_crowd(rng: random.Random) -> Crowd:
    """Fill a pattern SIZE times: some of its words are drawn once, the others for each name."""
    styles = read_styles()
    style = rng.choices(list(styles), [table["weight"] for table in styles.values()])[0]
    pattern = rng.choice(styles[style]["patterns"])
    slots = re.findall(r"\[|\{\w+\}", pattern)
    changeable = [place for place, slot in enumerate(slots) if slot != TITLE]
    n_free = rng.choices((1, 2, len(changeable)), (6, 2, 2))[0]
    free = set(rng.sample(changeable, min(n_free, len(changeable))))
    words = _Words(rng)
    return Crowd(style, tuple(styles[style]["types"]), tuple(words.fill(pattern, free) for _ in range(SIZE)))


class _Words:
    """The words of one crowd: those that its names share, and fresh ones."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._shared: dict[int, str | bool] = {}
        self._suffixes = rng.choice(read_words()["suffix"])
        self._sounds = {part: rng.choice(read_words()[part]) for part in ("onset", "vowel", "coda")}
        self._number = rng.randrange(1, rng.choice((30, 1_000, 3_000)))
        self._are_near = rng.random() < 0.3

    def fill(self, pattern: str, free: set[int]) -> str:
        """Write one name; the words and options at the places in `free` are drawn anew."""
        places = itertools.count()

        def word(match: re.Match[str]) -> str:
            place, option = next(places), match[2]
            if place in free or place not in self._shared:
                self._shared[place] = self._make(match[1]) if option is None else self._rng.random() < 0.5
            draw = self._shared[place]
            if option is None:
                return str(draw)
            inner = SLOT.sub(word, option)
            return inner if draw else ""

        name = " ".join(SLOT.sub(word, pattern).split())
        return name[:1].upper() + name[1:] if pattern.startswith(("{stem}", "[{")) else name

    def _make(self, slot: str) -> str:
        rng = self._rng
        numbers = {
            "small": lambda: rng.randrange(1, 140),
            "number": lambda: self._number + rng.randrange(200),
            "round": lambda: rng.randrange(1, 30) * rng.choice((1, 10, 50, 100, 500)),
            "digit": lambda: rng.randrange(10),
            "year": lambda: rng.randrange(1700, 2030) if self._number % 2 else 1900 + rng.randrange(30) * 4,
        }
        if slot in numbers:
            return str(numbers[slot]())
        if slot in ("stem", "Stem"):
            return self._stem().capitalize()
        if slot == "letter":
            return rng.choice(string.ascii_uppercase)
        if slot in ("first", "last") and rng.random() < INVENTED_NAMES:
            return self._stem().capitalize() + str(rng.choice(read_words()["ending"]))
        return str(rng.choice(self._suffixes if slot == "suffix" else read_words()[slot]))

    def _stem(self) -> str:
        """Make a syllable, or take a word, that no test uses; in some crowds all of them differ in one sound."""
        rng, words = self._rng, read_words()
        while True:
            sounds = {part: rng.choice(words[part]) for part in self._sounds}
            if self._are_near:
                part = rng.choice(sorted(sounds))
                sounds = self._sounds | {part: sounds[part]}
            stem = "".join(sounds.values()) + rng.choice(("", "", "", rng.choice(words["vowel"])))
            if not self._are_near and rng.random() < OF_WORDS:
                stem = str(rng.choice(words[rng.choice(("noun", "adjective", "thing"))])).lower()
            if not stem.startswith(tuple(words["test_stem"])):
                return stem


def two_of(crowd: Crowd, rng: random.Random) -> tuple[str, str]:
    """Draw two different names; sometimes the second is a letter away from the first."""
    first, second = rng.sample(crowd.names, 2)
    if crowd.style in WITH_LETTERS and rng.random() < NEIGHBOUR:
        second = neighbour(first, rng) or second
    return first, second


def neighbour(name: str, rng: random.Random) -> str | None:
    """Return another name with another vowel or first letter: not what people mistype; None for short words."""
    word = rng.choice(name.split())
    vowels = [place for place in range(1, len(word)) if word[place] in "aeiou"]
    if len(word) < 4 or not word.isalpha() or not vowels:
        return None
    if rng.random() < 0.5:
        place = rng.choice(vowels)
        new = word[:place] + rng.choice("aeiou".replace(word[place], "")) + word[place + 1 :]
    else:
        new = rng.choice("BCDFGHKLMNPRSTVW".replace(word[0].upper(), "")) + word[1:]
    return " ".join(new if other == word else other for other in name.split())
