"""A document is read once, and after a change from the last state before it; the bits are those of a new reading.

Windows cover a document, and a segment holds a window and its question.
"""

import weakref

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.ernie_doc.reader import Packing, Reader
from models.ernie_doc.state import State, recent_states
from models.kit.batching import Cache
from models.reading.document import Document
from models.reading.windows import Window, cover, owners
from tests.hypotheses import examples
from tests.models.ernie_doc.tiny import ROOM, SEGMENT, Counter, document, packing, read_all, text, tiny_reader

PLENTY = 10**9


def read_anew(content: str) -> list[State]:
    return list(read_all(tiny_reader(), document(content)))


def read_last(reader: Reader, content: Document) -> State:
    *_, (_, state) = reader.read_before(content, [len(reader.packing.windows(len(content)))])
    return state


def assert_same(actual: list[State], expected: list[State]) -> None:
    assert [state.digest for state in actual] == [state.digest for state in expected]
    for state, other in zip(actual, expected, strict=True):
        assert state.memory.equal(other.memory)


@pytest.fixture
def store() -> Cache[str, State]:
    return recent_states(PLENTY)


def test_there_is_a_state_after_each_segment() -> None:
    states = read_anew(text(27))
    assert len(states) == len({state.digest for state in states}) == 4


def test_a_state_is_the_memory_that_the_model_leaves() -> None:
    reader, content = tiny_reader(), document(text(20))
    memory = reader.start().memory[:, None]
    for state, (first, last) in zip(read_all(reader, content), reader.packing.windows(20), strict=True):
        memory = reader.model(*reader.packing.pack([content.ids[first:last]]), memory).memory
        assert state.memory.equal(memory[:, 0])


def test_a_document_that_was_read_is_not_read_again(store: Cache[str, State]) -> None:
    reader, content = tiny_reader(store), text(40)
    counter = Counter(reader)
    first = list(read_all(reader, document(content)))
    assert counter.take() == len(first)
    assert_same(list(read_all(reader, document(content))), first)
    assert read_last(reader, document(content)).memory.equal(first[-1].memory)
    assert counter.take() == 0


@pytest.mark.parametrize("n_words", [40, 42])  # the last window is full, or not
def test_appending_reads_only_what_is_new(store: Cache[str, State], n_words: int) -> None:
    reader, content = tiny_reader(store), text(n_words)
    longer = content + " " + text(20, seed=1)
    counter = Counter(reader)
    before = list(read_all(reader, document(content)))
    counter.take()
    last = read_last(reader, document(longer))
    expected = read_anew(longer)
    n_kept = sum(state.digest == other.digest for state, other in zip(before, expected, strict=False))
    assert n_kept >= len(before) - 1
    assert counter.take() == len(expected) - n_kept
    assert_same(list(read_all(reader, document(longer))), expected)
    assert last.memory.equal(expected[-1].memory)


def test_appending_to_a_word_is_reading_the_new_word(store: Cache[str, State]) -> None:
    reader, content = tiny_reader(store), text(30) + " pump"
    list(read_all(reader, document(content)))
    assert_same(list(read_all(reader, document(content + "ing station"))), read_anew(content + "ing station"))


def test_a_replaced_part_is_read_from_the_last_state_before_it(store: Cache[str, State]) -> None:
    reader, content = tiny_reader(store), text(60)
    n_states = len(list(read_all(reader, document(content))))
    place = content.index(" ", len(content) // 2)
    changed = content[:place] + " seventy barrels" + content[place:]
    counter, expected = Counter(reader), read_anew(changed)
    assert read_last(reader, document(changed)).memory.equal(expected[-1].memory)
    assert 0 < counter.take() <= n_states // 2 + 2
    assert_same(list(read_all(reader, document(changed))), expected)
    counter.take()
    read_last(reader, document(content))
    assert counter.take() == 0


@examples(20)  # each reads two documents
@given(cut=st.integers(1, 200), words=st.integers(0, 12))
def test_any_change_gives_the_bits_of_a_new_reading(cut: int, words: int) -> None:
    reader = tiny_reader(recent_states(PLENTY), every=2)
    content = text(45)
    changed = content[:cut] + text(words, seed=2) + content[cut + 9 :]
    list(read_all(reader, document(content)))
    assert_same(list(read_all(reader, document(changed))), read_anew(changed))


def test_snapshots_of_every_few_segments_are_enough(store: Cache[str, State]) -> None:
    reader, content = tiny_reader(store, every=3), text(60)
    expected = list(read_all(reader, document(content)))
    assert len(expected) == 8
    assert (
        sum(store.get(state.digest) is not None for state in expected) == 3
    )  # the third, the sixth and the last
    counter = Counter(reader)
    assert_same(list(read_all(reader, document(content))), expected)
    assert counter.take() == 5
    read_last(reader, document(content + " " + text(8, seed=1)))
    assert counter.take() <= 3


def test_documents_with_one_beginning_share_its_states(store: Cache[str, State]) -> None:
    reader, beginning = tiny_reader(store), text(30)
    list(read_all(reader, document(beginning + " " + text(10, seed=1))))
    counter = Counter(reader)
    read_last(reader, document(beginning + " " + text(10, seed=2)))
    assert counter.take() == 2


def test_another_model_finds_no_state_and_takes_none(store: Cache[str, State]) -> None:
    content = document(text(20))
    reader = tiny_reader(store)
    read_last(reader, content)
    other = tiny_reader(store, digest="other")
    counter = Counter(other)
    read_last(other, content)
    assert counter.take() == 3
    assert other.origin != reader.origin


def test_reading_holds_one_state_however_long_the_document() -> None:
    references: list[weakref.ref[State]] = []
    for state in read_all(tiny_reader(), document(text(400))):
        references.append(weakref.ref(state))
        assert sum(reference() is not None for reference in references) <= 2
    assert len(references) == 50


def test_reading_needs_no_gradient() -> None:
    assert not read_last(tiny_reader(), document(text(10))).memory.requires_grad
    assert torch.is_grad_enabled()


def test_a_reader_without_a_store_reads_everything_each_time() -> None:
    reader: Reader = tiny_reader()
    counter, content = Counter(reader), document(text(20))
    assert read_last(reader, content).memory.equal(read_last(reader, content).memory)
    assert counter.take() == 6


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
