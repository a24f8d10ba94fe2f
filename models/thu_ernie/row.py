"""Texts with their links as rows of a batch: tokens, mentions of entities, and the token that carries each.

Zhang et al. (arXiv:1905.07129), section 3.2: an entity is aligned to the first token of its mention, which is found by
character offsets. The authors take links from TAGME (section 4.1); here anything that gives `Link`s is a linker.

A row is [CLS] a [SEP] b [SEP], and a vector where a mention begins. Place 0 counts as linked, with the zero vector, so
that the attention between entities has a key in a text without any. A question is [CLS] question [SEP] [MASK] [SEP].
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.kit.text import CLS, MASK, SEP, UNK, Piece, WordPieces
from models.thu_ernie.entities.table import NO_ENTITY
from models.thu_ernie.network import Batch

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


@dataclass(frozen=True)
class Vocabulary:
    """The word pieces of a checkpoint."""

    words: tuple[str, ...]  # in the order of their ids
    lowercase: bool  # whether texts lose case and accents
    spans: WordPieces = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Build the tokenizer; CheckpointError where the vocabulary is not a BERT's."""
        object.__setattr__(self, "spans", self.build_pieces())

    def build_pieces(self, splits_cjk: bool = True) -> WordPieces:
        """Return the tokenizer of the vocabulary; the authors' does not split Chinese characters."""
        ids = {word: place for place, word in enumerate(self.words)}
        tokenizer = Tokenizer(WordPiece(ids, unk_token=UNK, max_input_chars_per_word=100))
        tokenizer.normalizer = BertNormalizer(
            clean_text=True,
            handle_chinese_chars=splits_cjk,
            strip_accents=self.lowercase,
            lowercase=self.lowercase,
        )
        tokenizer.pre_tokenizer = BertPreTokenizer()
        return WordPieces(tokenizer)

    def align(self, text: str, links: Sequence[Link]) -> AlignedText:
        """Split a text and put each link on the first piece inside it; of overlapping ones the longest and surest wins.

        Raises:
            InvalidLink: A link lies outside the text.
        """
        for link in links:
            link.check(text)
        pieces = self.spans.split(text)
        links_by_place: dict[int, Link] = {}
        rejections = []
        for link in sorted(links, key=lambda link: (link.begin - link.end, -link.score, link.begin)):
            inside = (
                n for n, piece in enumerate(pieces) if link.begin <= piece.start < piece.end <= link.end
            )
            place = next(inside, None)
            if place is None:
                rejections.append(Rejection(link, NO_TOKEN))
            elif any(link.begin < other.end and other.begin < link.end for other in links_by_place.values()):
                rejections.append(Rejection(link, OVERLAP))
            else:
                links_by_place[place] = link
        return AlignedText(pieces, links_by_place, tuple(rejections))


CUT = "the text is cut before it"


@runtime_checkable
class Entities(Protocol):
    """A table of entity vectors at one version."""

    def row_of(self, entity: str) -> int:
        """Return the row of an entity; NO_ENTITY where the table does not know it."""

    def look_up(self, rows: Int[Tensor, "*place"]) -> Float[Tensor, "*place entity"]:
        """Return the vector of each row."""


@dataclass(frozen=True)
class Row:
    """A text, or a pair of texts, ready for a batch."""

    tokens: tuple[Piece, ...]  # special ones included
    segments: tuple[int, ...]  # 0 up to the first [SEP] and 1 behind it
    links: Mapping[int, Link]  # place of a token -> the mention that begins there
    rejections: tuple[Rejection, ...]  # mentions that no token carries

    @staticmethod
    def of(texts: Sequence[AlignedText], vocabulary: Vocabulary) -> "Row":
        """Lay out one text or two."""
        separator = vocabulary.spans.tag(SEP)
        tokens, segments = [vocabulary.spans.tag(CLS)], [0]
        links: dict[int, Link] = {}
        for segment, text in enumerate(texts):
            links |= {len(tokens) + place: link for place, link in text.links.items()}
            tokens += [*text.pieces, separator]
            segments += [segment] * (len(text.pieces) + 1)
        rejections = tuple(rejection for text in texts for rejection in text.rejections)
        return Row(tuple(tokens), tuple(segments), links, rejections)

    def entity_rows(self, row_of: Callable[[str], int]) -> list[int]:
        """Return the table's row for each token, NO_ENTITY if it names none."""
        rows = [NO_ENTITY] * len(self.tokens)
        for place, link in self.links.items():
            rows[place] = row_of(link.entity)
        return rows


@dataclass(frozen=True)
class MaskedRow:
    """A question with a mask, at some place, where its answer would stand."""

    row: Row
    place: int


def cut(text: AlignedText, n_tokens: int) -> tuple[AlignedText, bool]:
    """Return the first tokens of a text with the links on them, and whether any token is left out."""
    if len(text.pieces) <= n_tokens:
        return text, False
    links = {place: link for place, link in text.links.items() if place < n_tokens}
    lost_links = tuple(Rejection(link, CUT) for place, link in text.links.items() if place >= n_tokens)
    return AlignedText(text.pieces[:n_tokens], links, (*text.rejections, *lost_links)), True


def lay_mask(question: AlignedText, subject: Link | None, vocabulary: Vocabulary) -> MaskedRow:
    """Lay out a question, cut, and the mask of its answer.

    The mask carries the row of the mention that the question is about, if there is one.
    """
    mask = AlignedText((vocabulary.spans.tag(MASK),), {} if subject is None else {0: subject})
    return MaskedRow(Row.of([question, mask], vocabulary), len(question.pieces) + 2)


def collate(
    rows: Sequence[Row], entities: Entities | None, padding: int, device: torch.device | str = "cpu"
) -> Batch:
    """Make a batch of rows, padded to the longest by the id of [PAD]; without a table the texts are read alone."""

    def pad(values: Sequence[Sequence[int]], filler: int) -> Tensor:
        return pad_sequence([torch.tensor(row) for row in values], batch_first=True, padding_value=filler)

    ids = pad([[token.id for token in row.tokens] for row in rows], padding).to(device)
    segments = pad([row.segments for row in rows], 0).to(device)
    is_real = pad([[1] * len(row.tokens) for row in rows], 0).bool().to(device)
    if entities is None:
        return Batch(ids, segments, is_real)
    places = pad([row.entity_rows(entities.row_of) for row in rows], NO_ENTITY)
    is_linked = places != NO_ENTITY
    is_linked[:, 0] = True
    return Batch(ids, segments, is_real, entities.look_up(places).to(device), is_linked.to(device))
