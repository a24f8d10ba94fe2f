"""Texts with their links as the rows of a batch: [CLS] a [SEP] b [SEP], and a vector where a mention begins.

Zhang et al. (arXiv:1905.07129), section 3.2. Place 0 counts as linked, with the zero vector, so that the attention
between entities has a key in a text without any.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.kbert.text import CLS, SEP, Piece
from models.thu_ernie.alignment import AlignedText, Vocabulary
from models.thu_ernie.entities.names import NO_ENTITY
from models.thu_ernie.links import Link, Rejection
from models.thu_ernie.network import Batch

NO_VECTOR = "the table has no vector of this entity"


@runtime_checkable
class Entities(Protocol):
    """A table of entity vectors at one version."""

    def row_of(self, entity: str) -> int:
        """Return the row of an entity; NO_ENTITY where the table does not know it."""
        ...

    def look_up(self, rows: Int[Tensor, "*place"]) -> Float[Tensor, "*place entity"]:
        """Return the vector of each row."""
        ...


@dataclass(frozen=True)
class Row:
    """A text, or a pair of texts, ready for a batch.

    Attributes:
        tokens: All tokens, special ones included.
        segments: Number of the text that each token belongs to: 0 up to the first [SEP] and 1 behind it.
        links: Place of a token -> the mention that begins there.
        rejections: Mentions that no token carries.
    """

    tokens: tuple[Piece, ...]
    segments: tuple[int, ...]
    links: Mapping[int, Link]
    rejections: tuple[Rejection, ...]

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

    def unknown(self, row_of: Callable[[str], int]) -> tuple[Rejection, ...]:
        """Return the links whose entity has no vector."""
        return tuple(
            Rejection(link, NO_VECTOR) for link in self.links.values() if row_of(link.entity) == NO_ENTITY
        )


def collate(
    rows: Sequence[Row], entities: Entities | None, padding: int, device: torch.device | str = "cpu"
) -> Batch:
    """Make a batch of rows, padded to the longest.

    Args:
        rows: One or more.
        entities: Where vectors are looked up; None reads the texts alone.
        padding: The id of [PAD].
        device: Where the model is.
    """

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
