"""The mask and the windows stand where heads look for them."""

from models.kbert.text import MASK
from models.thu_ernie.alignment import Vocabulary
from models.thu_ernie.answering.checkpoint import minilm_vocabulary
from models.thu_ernie.answering.layout import CUT, cut, lay_mask, lay_windows
from models.thu_ernie.links import Link

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


def test_windows_cover_every_token_and_share_some() -> None:
    passage = "Kim " + "was born in Oslo and " * 12 + "Kim"
    links = [Link("kim", 0, 3, 1.0), Link("kim", len(passage) - 3, len(passage), 1.0)]
    text = VOCABULARY.align(passage, links)
    question = VOCABULARY.align(TEXT, [LINK])
    windows = list(lay_windows(question, text, VOCABULARY, 24, 6))
    assert max(len(window.row.tokens) for window in windows) == 24
    tokens: list[int] = []
    for window in windows:
        inner = window.row.tokens[window.offset : -1]
        assert [piece.text for piece in inner] == [
            piece.text for piece in text.pieces[window.first : window.first + len(inner)]
        ]
        tokens += range(window.first, window.first + len(inner))
    assert set(tokens) == set(range(len(text.pieces)))
    assert len(tokens) - len(set(tokens)) >= 6 * (len(windows) - 1)
    assert len(windows[0].row.links) == 2  # in the question, and where the passage begins
    assert windows[-1].row.tokens[max(windows[-1].row.links)].text == "kim"


def test_a_short_passage_is_one_window() -> None:
    question = VOCABULARY.align(TEXT, [])
    for passage in ("Oslo", "", "Kim was born in Oslo."):
        assert len(list(lay_windows(question, VOCABULARY.align(passage, []), VOCABULARY, 24, 6))) == 1
