"""Questions and passages as rows of a batch: [CLS] question [SEP] [MASK] [SEP], or [CLS] question [SEP] window [SEP].

specs/thu-ernie.md, sections 3.4 and 5; the windows are ours, not the authors'.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from models.kbert.text import MASK
from models.thu_ernie.alignment import AlignedText, Vocabulary
from models.thu_ernie.links import Link, Rejection
from models.thu_ernie.row import Row

CUT = "the text is cut before it"
N_SPECIAL = 3  # tokens around two texts


@dataclass(frozen=True)
class MaskedRow:
    """A question with a mask where its answer would stand.

    Attributes:
        row: The tokens.
        place: Where the mask is.
    """

    row: Row
    place: int


@dataclass(frozen=True)
class WindowRow:
    """A question beside a part of a passage.

    Attributes:
        row: The tokens.
        offset: Place of the window's first token in the row.
        first: Number of that token in the passage.
    """

    row: Row
    offset: int
    first: int


def cut(text: AlignedText, n_tokens: int) -> tuple[AlignedText, bool]:
    """Return the first tokens of a text with the links on them, and whether any token is left out."""
    if len(text.pieces) <= n_tokens:
        return text, False
    links = {place: link for place, link in text.links.items() if place < n_tokens}
    lost_links = tuple(Rejection(link, CUT) for place, link in text.links.items() if place >= n_tokens)
    return AlignedText(text.pieces[:n_tokens], links, (*text.rejections, *lost_links)), True


def lay_mask(question: AlignedText, subject: Link | None, vocabulary: Vocabulary) -> MaskedRow:
    """Lay out a question and the mask of its answer.

    Args:
        question: The question with its mentions, cut.
        subject: The mention that the question is about, whose row the mask carries; None without one.
        vocabulary: Vocabulary of the model.
    """
    mask = AlignedText((vocabulary.spans.tag(MASK),), {} if subject is None else {0: subject})
    return MaskedRow(Row.of([question, mask], vocabulary), len(question.pieces) + 2)


def lay_windows(
    question: AlignedText, passage: AlignedText, vocabulary: Vocabulary, length: int, stride: int
) -> Iterator[WindowRow]:
    """Yield the windows of a passage; each begins `stride` tokens before the end of the last.

    Args:
        question: The question with its mentions, cut.
        passage: The passage with its mentions.
        vocabulary: Vocabulary of the model.
        length: Tokens of a window with the question and the special tokens.
        stride: Tokens that two windows share.
    """
    room = length - len(question.pieces) - N_SPECIAL
    step = max(1, room - stride)
    for first in range(0, max(1, len(passage.pieces) - stride), step):
        links = {
            place - first: link for place, link in passage.links.items() if first <= place < first + room
        }
        window = replace(passage, pieces=passage.pieces[first : first + room], links=links, rejections=())
        yield WindowRow(Row.of([question, window], vocabulary), len(question.pieces) + 2, first)
