"""Questions in which order decides: that of two names, or of the characters and signs of a figure.

`frames.txt` has questions with two names, a block each: `= asymmetric | kind | kind | label`, wordings behind `?`,
other questions about the two names behind `x`; and the names of each kind. `verbs.txt` has frames for training, of
verbs that WordNet has between two persons, in active and passive voice. `figures.jsonl` has a sort of figure a line:
`asked`, its questions in several wordings with `{v}`, and `figures`: the ways to write a figure, and those to write
another one that is easily taken for it. Whole kinds are kept for choosing and for the test, whole sorts for the test.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from more_itertools import map_reduce

from models.training.scope.crowds.families import expand
from models.training.scope.written import read_rows

FOLDER = Path(__file__).parent
SLOT = "{v}"
LARGEST = 12  # frames of a kind that is kept for choosing or the test; those of larger kinds are for training
CHOOSE, TEST = 0.06, 0.14  # shares of the frames
TEST_SORTS = 0.33  # share of the sorts


@dataclass(frozen=True)
class Frame:
    """A question about a name of each kind."""

    is_symmetric: bool  # whether the exchange of the names leaves it the same question
    kinds: tuple[str, str]
    label: str
    wordings: tuple[tuple[str, ...], ...]  # ways to ask it; each is a list, of which any text does
    other_questions: tuple[str, ...]  # ways to ask other questions about the two


@dataclass(frozen=True)
class Frames:
    """Frames, and the names of each kind."""

    frames: Sequence[Frame]
    names: Mapping[str, Sequence[str]]

    def draw_names(self, frame: Frame, rng: random.Random) -> tuple[str, str]:
        """Draw a name of each kind; no word of the one is all of the other."""
        first = rng.choice(self.names[frame.kinds[0]])
        return first, self.draw_other(frame.kinds[1], (first,), rng)

    def draw_other(self, kind: str, names: Sequence[str], rng: random.Random) -> str:
        """Draw a name that cannot mean one of `names`."""
        words = [set(name.lower().split()) for name in names]
        while True:
            name = rng.choice(self.names[kind])
            own_words = set(name.lower().split())
            if not any(own_words <= part or part <= own_words for part in words):
                return name


@dataclass(frozen=True)
class Sort:
    """A sort of figure."""

    label: str
    questions: tuple[tuple[str, ...], ...]  # questions; each in several wordings
    # Ways to write a figure, and to write one that is taken for it
    figures: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


def read_frames(file: str = "frames.txt") -> Frames:
    """Read all frames of a file."""
    frames, names = list[Frame](), dict[str, list[str]]()
    for block in re.split(r"\n\s*\n|\n(?== names)", (FOLDER / file).read_text("utf-8")):
        head, *lines = [line for line in block.splitlines() if line.strip()] or [""]
        fields = [field.strip() for field in head.lstrip("= ").split("|")]
        if fields[0] == "names":
            names[fields[1]] = [name for line in lines for part in line.split(";") if (name := part.strip())]
        elif head:
            wordings = tuple(tuple(expand(line[2:])) for line in lines if line[0] == "?")
            other_questions = tuple(text for line in lines if line[0] == "x" for text in expand(line[2:]))
            frames.append(
                Frame(fields[0] == "symmetric", (fields[1], fields[2]), fields[3], wordings, other_questions)
            )
    return Frames(frames, names)


def split_frames(seed: int) -> tuple[Frames, Frames, Frames]:
    """Deal the frames to training, choosing and test, those of one kind together."""
    frames = read_frames()
    by_kind = map_reduce(frames.frames, lambda frame: frame.kinds)
    small = sorted(kinds for kinds, group in by_kind.items() if len(group) <= LARGEST)
    random.Random(seed).shuffle(small)
    parts: list[list[Frame]] = []
    for share in (TEST, CHOOSE):
        part: list[Frame] = []
        while len(part) < share * len(frames.frames):
            part += by_kind.pop(small.pop())
        parts.append(part)
    test, choose = parts
    train = [*(frame for group in by_kind.values() for frame in group), *read_frames("verbs.txt").frames]
    return Frames(train, frames.names), Frames(choose, frames.names), Frames(test, frames.names)


def read_figures() -> list[Sort]:
    """Read all sorts of figures."""
    return [
        Sort(
            row["sort"],
            tuple(map(tuple, row["asked"])),
            tuple((tuple(ways), tuple(other_ways)) for ways, other_ways in row["figures"]),
        )
        for row in read_rows(FOLDER / "figures.jsonl")
    ]


def split_figures(seed: int) -> tuple[list[Sort], list[Sort]]:
    """Deal the sorts to training and test."""
    order = read_figures()
    random.Random(seed).shuffle(order)
    n_test = round(TEST_SORTS * len(order))
    return order[n_test:], order[:n_test]


def put_names(wording: str, first: str, second: str) -> str:
    """Write the names into a wording, with "an" before a vowel and a capital at the beginning of a question."""
    text = wording
    for slot, name in (("{a}", first), ("{b}", second)):
        article = r"\1n " if re.match(r"(?!uni|use|eu|one\b)[aeiou]", name, re.IGNORECASE) else r"\1 "
        text = re.sub(rf"\b([aA]) (?={re.escape(slot)})", article, text).replace(slot, name)
    starts_with_name = wording.startswith(("{a}", "{b}")) and wording.endswith("?")
    return text[:1].upper() + text[1:] if starts_with_name and text.split()[0].isalpha() else text
