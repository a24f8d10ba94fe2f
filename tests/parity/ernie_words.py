"""The authors' alignment of entities with tokens, to compare with their numbers.

Zhang et al. (arXiv:1905.07129): their tokenizer cleans a text, and a mention counts only where it begins with a word
between spaces.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from models.thu_ernie.row import AlignedText, Link, Rejection, Vocabulary

NO_WORD = "no word of the text begins where the mention does"
LATER = "a later mention begins at the same word"


def align_as_authors(text: str, links: Sequence[Link], vocabulary: Vocabulary) -> AlignedText:
    """Put a link on the first piece of the word between spaces that begins where it does; the last of two wins."""
    text, links = clean(text, links)
    pieces = vocabulary.build_pieces(splits_cjk=False).split(text)
    words = [match.start() for match in re.finditer(r"\S+", text)]
    firsts: dict[int, int] = {}
    for number, piece in enumerate(pieces):
        firsts.setdefault(words[bisect_right(words, piece.start) - 1], number)
    links_by_place: dict[int, Link] = {}
    rejections = []
    for link in links:
        place = firsts.get(link.begin)
        if place is None:
            rejections.append(Rejection(link, NO_WORD))
            continue
        if place in links_by_place:
            rejections.append(Rejection(links_by_place[place], LATER))
        links_by_place[place] = link
    return AlignedText(pieces, links_by_place, tuple(rejections))


def clean(text: str, links: Sequence[Link]) -> tuple[str, list[Link]]:
    """Remove control characters, turn any whitespace into a space, and move links accordingly."""
    characters, shifts = [], [0]
    for character in text:
        is_kept = character in "\t\n\r" or not (
            character == "\ufffd" or unicodedata.category(character).startswith("C")
        )
        if is_kept:
            characters.append(" " if character.isspace() else character)
        shifts.append(shifts[-1] + (not is_kept))

    def move(place: int) -> int:
        return place - shifts[max(0, min(place, len(text)))]

    return "".join(characters), [replace(link, begin=move(link.begin), end=move(link.end)) for link in links]
