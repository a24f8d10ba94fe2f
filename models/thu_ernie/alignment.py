"""The tokens of a text, and the token on which the vector of a mention is put.

Zhang et al. (arXiv:1905.07129), section 3.2: an entity is aligned to the first token of its mention. `span` finds that
token by character offsets. `authors` follows their tokenizer: it cleans the text, and a mention counts only where it
begins with a word between spaces.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from models.checkpoint import CheckpointError
from models.kbert.text import UNK, Piece, WordPieces
from models.thu_ernie.links import Link, Rejection

Mode: TypeAlias = Literal["span", "authors"]
NO_WORD = "no word of the text begins where the mention does"
NO_TOKEN = "no token lies inside the mention"
OVERLAP = "it overlaps a longer or surer mention"
LATER = "a later mention begins at the same word"


@dataclass(frozen=True)
class AlignedText:
    """A text as the model reads it.

    Attributes:
        pieces: Its tokens; their offsets are those of the text that was split, which `authors` cleans first.
        links: Place of a token -> the mention that begins there.
        rejections: Mentions that no token carries.
    """

    pieces: Sequence[Piece]
    links: Mapping[int, Link]
    rejections: tuple[Rejection, ...] = ()


@dataclass(frozen=True)
class Vocabulary:
    """The word pieces of a checkpoint.

    Attributes:
        words: The vocabulary in the order of its ids.
        lowercase: Whether texts lose case and accents.
    """

    words: tuple[str, ...]
    lowercase: bool
    spans: WordPieces = field(init=False, repr=False, compare=False)
    authors: WordPieces = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Build both tokenizers; CheckpointError where the vocabulary is not a BERT's."""
        object.__setattr__(self, "spans", _word_pieces(self, splits_cjk=True))
        object.__setattr__(self, "authors", _word_pieces(self, splits_cjk=False))

    @staticmethod
    def read(path: Path, lowercase: bool) -> "Vocabulary":
        """Read `vocab.txt`, a token a line."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as cause:
            raise CheckpointError(f"{path} cannot be read as a vocabulary ({cause})") from cause
        return Vocabulary(tuple(lines), lowercase)

    def align(self, text: str, links: Sequence[Link], mode: Mode = "span") -> AlignedText:
        """Split a text and put each of its links on a token.

        Args:
            text: Any text. A special token spelt in it is characters like any other.
            links: Mentions of the text. They are not changed.
            mode: `span`, or `authors` for their numbers.

        Raises:
            InvalidLink: A link lies outside the text (`span` only: the authors never look at the end).
        """
        if mode == "authors":
            return _align_by_words(*clean(text, links), self.authors)
        for link in links:
            link.check(text)
        return _align_by_span(text, links, self.spans)


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


def _align_by_words(text: str, links: Sequence[Link], tokens: WordPieces) -> AlignedText:
    """Put a link on the first piece of the word between spaces that begins where it does; the last of two wins."""
    pieces = tokens.split(text)
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


def _align_by_span(text: str, links: Sequence[Link], tokens: WordPieces) -> AlignedText:
    """Put a link on the first piece inside it; of links that overlap the longest, then the surest, wins."""
    pieces = tokens.split(text)
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


def _word_pieces(vocabulary: Vocabulary, splits_cjk: bool) -> WordPieces:
    ids = {word: place for place, word in enumerate(vocabulary.words)}
    tokenizer = Tokenizer(WordPiece(ids, unk_token=UNK, max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(
        clean_text=True,
        handle_chinese_chars=splits_cjk,
        strip_accents=vocabulary.lowercase,
        lowercase=vocabulary.lowercase,
    )
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return WordPieces(tokenizer)
