"""The mask stands where the head looks for it."""

from models.kit.text import MASK
from models.thu_ernie.checkpoint import minilm_vocabulary
from models.thu_ernie.row import CUT, Link, Vocabulary, cut, lay_mask

VOCABULARY: Vocabulary = minilm_vocabulary()
TEXT = "Where was Kim born?"
LINK = Link("kim", 10, 13, 1.0)


def test_the_mask_carries_the_row_of_the_subject() -> None:
    layout = lay_mask(VOCABULARY.align(TEXT, [LINK]), LINK, VOCABULARY)
    texts = [token.text for token in layout.row.tokens]
    assert texts == ["[CLS]", "where", "was", "kim", "born", "?", "[SEP]", MASK, "[SEP]"]
    assert texts[layout.place] == MASK
    assert sorted(layout.row.links) == [3, layout.place]
    assert layout.row.segments[layout.place] == 1
    assert sorted(lay_mask(VOCABULARY.align(TEXT, []), None, VOCABULARY).row.links) == []


def test_a_cut_question_tells_which_mention_it_lost() -> None:
    text, is_cut = cut(VOCABULARY.align(TEXT, [LINK]), 2)
    assert is_cut
    assert [piece.text for piece in text.pieces] == ["where", "was"]
    assert [(rejection.link, rejection.reason) for rejection in text.rejections] == [(LINK, CUT)]
    assert cut(VOCABULARY.align(TEXT, [LINK]), 20)[1] is False
