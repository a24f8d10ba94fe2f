"""Aligned texts as rows of a batch.

A row is [CLS] a [SEP] b [SEP], and a vector where a mention begins. Place 0 counts as linked, with the zero vector, so
that the attention between entities has a key in a text without any. A question is [CLS] question [SEP] [MASK] [SEP].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.kit.text import CLS, MASK, SEP, Piece, WordPieces
from models.thu_ernie.align import AlignedText, Link, Rejection
from models.thu_ernie.entities.table import NO_ENTITY
from models.thu_ernie.network import Batch

CUT = "the text is cut before it"


@dataclass(frozen=True)
class Row:
    """A text, or a pair of texts, ready for a batch."""

    tokens: tuple[Piece, ...]  # special ones included
    segments: tuple[int, ...]  # 0 up to the first [SEP] and 1 behind it
    links: Mapping[int, Link]  # place of a token -> the mention that begins there
    rejections: tuple[Rejection, ...]  # mentions that no token carries

    @staticmethod
    def of(texts: Sequence[AlignedText], vocabulary: WordPieces) -> "Row":
        """Lay out one text or two."""
        separator = vocabulary.tag(SEP)
        tokens, segments = [vocabulary.tag(CLS)], [0]
        links: dict[int, Link] = {}
        for segment, text in enumerate(texts):
            links |= {len(tokens) + place: link for place, link in text.links.items()}
            tokens += [*text.pieces, separator]
            segments += [segment] * (len(text.pieces) + 1)
        rejections = tuple(rejection for text in texts for rejection in text.rejections)
        return Row(tuple(tokens), tuple(segments), links, rejections)

    def entity_rows(self, numbers: Mapping[str, int]) -> list[int]:
        """Return the number of each token's entity, NO_ENTITY if it names none."""
        rows = [NO_ENTITY] * len(self.tokens)
        for place, link in self.links.items():
            rows[place] = numbers.get(link.entity, NO_ENTITY)
        return rows


def cut(text: AlignedText, n_tokens: int) -> tuple[AlignedText, bool]:
    """Return the first tokens of a text with the links on them, and whether any token is left out."""
    if len(text.pieces) <= n_tokens:
        return text, False
    links = {place: link for place, link in text.links.items() if place < n_tokens}
    lost_links = tuple(Rejection(link, CUT) for place, link in text.links.items() if place >= n_tokens)
    return AlignedText(text.pieces[:n_tokens], links, (*text.rejections, *lost_links)), True


def lay_mask(question: AlignedText, subject: Link | None, vocabulary: WordPieces) -> Row:
    """Lay out a question, cut, and the mask of its answer, which is the last token but one.

    The mask carries the row of the mention that the question is about, if there is one.
    """
    mask = AlignedText((vocabulary.tag(MASK),), {} if subject is None else {0: subject})
    return Row.of([question, mask], vocabulary)


def collate(
    rows: Sequence[Row],
    vectors: Mapping[str, Float[Tensor, " entity"]],
    size: int,
    padding: int,
    device: torch.device | str = "cpu",
) -> Batch:
    """Make a batch of rows, padded to the longest by the id of [PAD], with vectors of `size` numbers by entity."""

    def pad(values: Sequence[Sequence[int]], filler: int) -> Tensor:
        return pad_sequence([torch.tensor(row) for row in values], batch_first=True, padding_value=filler)

    ids = pad([[token.id for token in row.tokens] for row in rows], padding).to(device)
    segments = pad([row.segments for row in rows], 0).to(device)
    is_real = pad([[1] * len(row.tokens) for row in rows], 0).bool().to(device)
    numbers = {entity: number for number, entity in enumerate(vectors, 1)}
    matrix = torch.stack([torch.zeros(size), *vectors.values()])
    places = pad([row.entity_rows(numbers) for row in rows], NO_ENTITY)
    is_linked = places != NO_ENTITY
    is_linked[:, 0] = True
    return Batch(ids, segments, is_real, matrix[places].to(device), is_linked.to(device))
