"""Windows cover a document, and a segment holds a window and its question."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.ernie_doc.reader import Packing
from models.reading.spans import Window, cover, owners
from tests.models.ernie_doc.documents import ROOM, SEGMENT, packing

PACKING = Packing(segment=10, question_room=3, stride=4, cls=101, sep=102, pad=0)


@given(n_tokens=st.integers(1, 60), size=st.integers(1, 12), data=st.data())
def test_windows_cover_every_token_and_none_is_needless(
    n_tokens: int, size: int, data: st.DataObject
) -> None:
    stride = data.draw(st.integers(1, size))
    windows = cover(n_tokens, size, stride)
    assert {token for window in windows for token in range(*window)} == set(range(n_tokens))
    assert [window.first for window in windows] == list(range(0, len(windows) * stride, stride))
    assert all(window.last - window.first == size for window in windows[:-1])
    assert all(window.last < n_tokens for window in windows[:-1])


@given(n_tokens=st.integers(1, 60), extra=st.integers(1, 20))
def test_appending_changes_no_window_but_the_last(n_tokens: int, extra: int) -> None:
    before, after = cover(n_tokens, 8, 6), cover(n_tokens + extra, 8, 6)
    assert after[: len(before) - 1] == before[:-1]


def test_a_window_is_packed_with_and_without_its_question() -> None:
    windows = [torch.tensor([7, 8, 9, 6]), torch.tensor([5])]
    plain = PACKING.pack(windows)
    assert plain.ids.tolist() == [[101, 7, 8, 9, 6, 102, 0, 0, 0, 0], [101, 5, 102, 0, 0, 0, 0, 0, 0, 0]]
    assert plain.mask.sum(1).tolist() == [6, 3]
    with_question = PACKING.pack(windows, torch.tensor([3, 4]))
    assert with_question.ids.tolist() == [
        [101, 7, 8, 9, 6, 102, 3, 4, 102, 0],
        [101, 5, 102, 3, 4, 102, 0, 0, 0, 0],
    ]
    assert not with_question.tasks.any()


def test_each_token_belongs_to_the_window_that_shows_most_around_it() -> None:
    windows = [Window(0, 6), Window(4, 10), Window(8, 12)]
    assert owners(windows, 12).tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2]


def test_special_tokens_and_sizes_come_from_the_tokenizer() -> None:
    sizes = packing()
    assert (sizes.cls, sizes.sep, sizes.pad) == (101, 102, 0)
    assert sizes.window == SEGMENT - ROOM - 3
    assert sizes.stride == sizes.window - 2


@pytest.mark.parametrize(
    ("room", "stride", "sentence"),
    [
        (0, 1, "question_room: from 1 to 6"),
        (7, 1, "question_room"),
        (3, 0, "stride"),
        (3, 5, "4 tokens of a window"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(room: int, stride: int, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Packing(segment=10, question_room=room, stride=stride, cls=101, sep=102, pad=0)
