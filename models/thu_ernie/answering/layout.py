"""Questions as rows of a batch: [CLS] question [SEP] [MASK] [SEP] (specs/thu-ernie.md, section 3.4)."""

from dataclasses import dataclass

from models.kbert.text import MASK
from models.thu_ernie.alignment import AlignedText, Vocabulary
from models.thu_ernie.links import Link, Rejection
from models.thu_ernie.row import Row

CUT = "the text is cut before it"


@dataclass(frozen=True)
class MaskedRow:
    """A question with a mask where its answer would stand.

    Attributes:
        row: The tokens.
        place: Where the mask is.
    """

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
    """Lay out a question and the mask of its answer.

    Args:
        question: The question with its mentions, cut.
        subject: The mention that the question is about, whose row the mask carries; None without one.
        vocabulary: Vocabulary of the model.
    """
    mask = AlignedText((vocabulary.spans.tag(MASK),), {} if subject is None else {0: subject})
    return MaskedRow(Row.of([question, mask], vocabulary), len(question.pieces) + 2)
