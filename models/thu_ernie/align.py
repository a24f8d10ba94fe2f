"""Texts with their links: tokens, mentions of entities, and the token that carries each.

Zhang et al. (arXiv:1905.07129), section 3.2: an entity is aligned to the first token of its mention, which is found by
character offsets. The authors take links from TAGME (section 4.1); here anything that gives `Link`s is a linker.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from models.kit.text import Piece, WordPieces

NO_TOKEN = "no token lies inside the mention"
OVERLAP = "it overlaps a longer or surer mention"


class InvalidLink(ValueError):
    """A link that marks nothing in its text. The sentence names the link."""


@dataclass(frozen=True)
class Link:
    """A mention of an entity."""

    entity: str  # name in the table, such as a Wikidata id
    begin: int  # first character
    end: int  # character behind the last
    score: float  # higher is surer

    def check(self, text: str) -> None:
        """Refuse a link that does not lie in the text, or whose score is not finite.

        Raises:
            InvalidLink: It marks nothing.
        """
        if not 0 <= self.begin < self.end <= len(text):
            raise InvalidLink(
                f"the link of {self.entity} marks characters {self.begin} to {self.end}, and the text has {len(text)}"
            )
        if not math.isfinite(self.score):
            raise InvalidLink(f"the link of {self.entity} at {self.begin} has the score {self.score}")


@dataclass(frozen=True)
class Rejection:
    """A link that is not used, and why, in words for the person who asked."""

    link: Link
    reason: str


@dataclass(frozen=True)
class AlignedText:
    """A text as the model reads it."""

    pieces: Sequence[Piece]
    links: Mapping[int, Link]  # place of a token -> the mention that begins there
    rejections: tuple[Rejection, ...] = ()  # mentions that no token carries


def place_links(text: str, links: Sequence[Link], vocabulary: WordPieces) -> AlignedText:
    """Split a text and put each link on the first piece inside it; of overlapping ones the longest and surest wins.

    Raises:
        InvalidLink: A link lies outside the text.
    """
    for link in links:
        link.check(text)
    pieces = vocabulary.split(text)
    links_by_place: dict[int, Link] = {}
    rejections = []
    for link in sorted(links, key=lambda link: (link.begin - link.end, -link.score, link.begin)):
        inside = (n for n, piece in enumerate(pieces) if link.begin <= piece.start < piece.end <= link.end)
        place = next(inside, None)
        if place is None:
            rejections.append(Rejection(link, NO_TOKEN))
        elif any(link.begin < other.end and other.begin < link.end for other in links_by_place.values()):
            rejections.append(Rejection(link, OVERLAP))
        else:
            links_by_place[place] = link
    return AlignedText(pieces, links_by_place, tuple(rejections))
