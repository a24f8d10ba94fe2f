"""A question is answered from states that do not depend on it, and a decline has its reason.

A question to a long document is put to the windows whose words are near to it.
States stay in memory within a bound; what was used last stays longest.
"""

from dataclasses import replace

import pytest
import torch

from models.ernie_doc.answer import AnswerRule, Progress, Second, answer, answer_in_steps, ask_windows
from models.ernie_doc.reader import Reader
from models.ernie_doc.state import State, recent_states
from models.ernie_doc.windows import CHUNK, STRIDE, Choice, Chooser, cut_chunks
from models.reading.checkpoint import load as load_reader
from models.reading.document import Document, DocumentRefused
from models.reading.spans import SpanRule
from models.reading.windows import Window, cover
from tests.models.ernie_doc.tiny import (
    ROOM,
    Counter,
    chooser,
    document,
    read_all,
    text,
    tiny_reader,
    tokenizer,
)

RULE = AnswerRule(SpanRule(longest=10, n_best=3), batch=3, most_windows=50)
ALL = SpanRule(longest=10, n_best=10_000)
QUESTION = "when was it built?"


def ids(question: str) -> torch.Tensor:
    return torch.tensor(tokenizer().encode(question, add_special_tokens=False).ids)


def test_the_answer_stands_in_the_text() -> None:
    content = document(text(50))
    result = answer(tiny_reader(), chooser(), content, QUESTION, tokenizer(), RULE)
    assert result.spans
    for span in result.spans:
        assert content.text[span.start : span.end] == span.text


def read_logits(reader: Reader, content: Document, batch: int = 3, uses_memory: bool = True) -> torch.Tensor:
    """Return the logits of all windows, the first of each state that is read before one."""
    windows = reader.packing.windows(len(content))
    states = dict.fromkeys(range(len(windows)), reader.start())
    if uses_memory:
        states |= dict(reader.read_before(content, range(len(windows))))
    return torch.stack(list(ask_windows(reader, content, windows, ids(QUESTION), states, batch)))


def test_each_window_is_read_from_the_state_before_it() -> None:
    reader, content = tiny_reader(), document(text(50))
    before = [reader.start(), *read_all(reader, content)]
    windows, all_logits = reader.packing.windows(50), read_logits(reader, content)
    for (first, last), state, actual in zip(windows, before[:-1], all_logits, strict=True):
        segments = reader.packing.pack([content.ids[first:last]], ids(QUESTION))
        states = reader.model(*segments, state.memory[:, None]).states
        torch.testing.assert_close(actual, reader.model.span_logits(states, segments.mask)[0])


def test_few_windows_are_asked_from_the_states_before_them() -> None:
    content = document(text(50))
    rule = replace(RULE, most_windows=2)
    reader = tiny_reader(recent_states(10**9), every=2)
    counter = Counter(reader)
    first = answer(reader, chooser(), content, QUESTION, tokenizer(), rule)
    assert len(first.choice.numbers) == 2
    assert {span.window for span in first.spans} <= set(first.choice.numbers)
    assert counter.take() == max(first.choice.numbers) + 2
    assert answer(reader, chooser(), content, QUESTION, tokenizer(), rule) == first
    assert counter.take() <= 4  # at most one window is read on to each from the last stored state
    everywhere = answer(tiny_reader(), chooser(), content, QUESTION, tokenizer(), replace(RULE, spans=ALL))
    for span in first.spans:
        assert (
            min(abs(span.margin - other.margin) for other in everywhere.spans if other.start == span.start)
            < 1e-4
        )


def test_the_progress_tells_what_is_done() -> None:
    content, rule = document(text(50, seed=9)), replace(RULE, most_windows=2)
    *steps, result = answer_in_steps(tiny_reader(), chooser(), content, QUESTION, tokenizer(), rule)
    progress = [step for step in steps if isinstance(step, Progress)]
    assert [step.phase for step in progress if step.phase != "reading"] == ["choosing", "asking", "asking"]
    assert [step.done for step in progress if step.phase == "reading"] == sorted(
        step.done for step in progress if step.phase == "reading"
    )
    assert not isinstance(result, Progress)


def test_a_second_question_reads_every_window_once() -> None:
    reader, content = tiny_reader(recent_states(10**9)), document(text(50))
    n_windows = len(reader.packing.windows(50))
    counter = Counter(reader)
    answer(reader, chooser(), content, QUESTION, tokenizer(), RULE)
    assert counter.take() == 2 * n_windows - 1
    answer(reader, chooser(), content, "where is the pump?", tokenizer(), RULE)
    assert counter.take() == n_windows


def test_answers_from_stored_states_have_the_same_bits() -> None:
    content = document(text(50))
    reader = tiny_reader(recent_states(10**9))
    results = [answer(reader, chooser(), content, QUESTION, tokenizer(), RULE) for _ in range(2)]
    assert results[0] == results[1] == answer(tiny_reader(), chooser(), content, QUESTION, tokenizer(), RULE)


def test_without_memory_the_windows_are_read_alone() -> None:
    reader, content = tiny_reader(), document(text(50))
    with_memory, without = (read_logits(reader, content, uses_memory=uses) for uses in (True, False))
    assert torch.allclose(with_memory[0], without[0], atol=1e-5)
    assert not torch.allclose(with_memory[1:], without[1:], atol=1e-3)


def test_the_second_reader_has_its_share_of_the_logits_of_a_window() -> None:
    content, question, second = document(text(10)), ids(QUESTION).tolist(), load_reader()
    logits = read_logits(tiny_reader(), content)[0]
    (read,) = second.point([(question, content.ids.tolist())])
    for share in (0.25, 1.0):
        (mixture,) = Second(second, share).mix([logits], question, [content.ids.tolist()])
        torch.testing.assert_close(mixture, (1 - share) * logits[: len(read)] + share * read)
    only = replace(RULE, second=Second(second, 1.0))
    result = answer(tiny_reader(), chooser(), content, QUESTION, tokenizer(), only)
    best = result.spans[0]
    assert best.null == pytest.approx(float(read[0].sum()), abs=1e-4)


def test_a_document_of_half_words_has_no_span() -> None:
    content = document("un" * 40)  # a word that is longer than any span
    rule = replace(RULE, spans=SpanRule(longest=1, n_best=3))
    result = answer(tiny_reader(), chooser(), content, QUESTION, tokenizer(), rule)
    assert len(content) > 1
    assert result.spans == ()


def test_a_long_question_is_cut_and_it_is_said() -> None:
    content, words = document(text(30)), "when was the old pump by the river built?"
    assert len(ids(words)) > ROOM
    result = answer(tiny_reader(), chooser(), content, words, tokenizer(), RULE)
    assert result.is_question_cut
    assert not answer(tiny_reader(), chooser(), content, QUESTION, tokenizer(), RULE).is_question_cut


@pytest.mark.parametrize("question", ["", " \n"])
def test_a_question_without_words_is_refused(question: str) -> None:
    with pytest.raises(DocumentRefused, match="the question has no words"):
        answer(tiny_reader(), chooser(), document(text(30)), question, tokenizer(), RULE)


def test_a_short_document_is_one_window() -> None:
    result = answer(tiny_reader(), chooser(), document("march"), QUESTION, tokenizer(), RULE)
    assert [span.text for span in result.spans] == ["march"]
    assert result.choice == Choice(range(1), None)


FILLER = "The committee met in the hall and talked about the roof for an hour. " * 8
FACT = "The ferry to Marlow Island leaves at noon. "
CHOOSING_QUESTION = "When does the boat to Marlow Island depart?"


def last_choice(user: Chooser, content: str, n_windows: int) -> tuple[list[Window], Choice]:
    tokens = document(content)
    windows = cover(len(tokens), 40, 30)
    *_, choice = user.choose(tokens, windows, CHOOSING_QUESTION, n_windows)
    assert isinstance(choice, Choice)
    return windows, choice


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_window_that_holds_the_fact_is_chosen(place: int) -> None:
    parts = [FILLER] * 3
    parts[place] += FACT
    content = "".join(parts)
    windows, choice = last_choice(chooser(), content, 4)
    tokens, start = document(content), content.index("Marlow")
    token = int((tokens.starts <= start).sum()) - 1
    assert any(windows[number].first <= token < windows[number].last for number in choice.numbers)
    assert list(choice.numbers) == sorted(choice.numbers)
    assert choice.cosines is not None
    assert len(choice.cosines) == len(choice.numbers) == 4


def test_few_windows_are_all_asked_and_none_is_compared() -> None:
    windows, choice = last_choice(chooser(), FILLER, 100)
    assert choice == Choice(range(len(windows)), None)


def test_a_second_question_reads_no_chunk_again() -> None:
    tokens = document(FILLER)
    windows = cover(len(tokens), 40, 30)
    user = Chooser(chooser()._encoder)
    first, second = (
        list(user.choose(tokens, windows, question, 2)) for question in (CHOOSING_QUESTION, "Who met?")
    )
    assert first[:-1] == [len(cut_chunks(tokens))]
    assert second[:-1] == []


def test_chunks_cover_the_document() -> None:
    tokens = document(text(100))
    chunks = cut_chunks(tokens)
    assert chunks[0] == " ".join(tokens.text.split()[:CHUNK])
    assert chunks[1].split()[0] == tokens.text.split()[STRIDE]
    assert tokens.text.endswith(chunks[-1])


def state(digest: str) -> State:
    return State(digest, torch.randn(2, 4, 8))


def test_states_keep_to_their_bound() -> None:
    size = state("a").memory.nbytes
    states = recent_states(2 * size)
    for digest in ("a", "b"):
        states.keep({digest: state(digest)})
    assert states.get("a") is not None
    states.keep({"c": state("c")})
    assert [states.get(digest) is not None for digest in "abc"] == [True, False, True]
    small = recent_states(size - 1)
    small.keep({"a": state("a")})
    assert small.get("a") is None
