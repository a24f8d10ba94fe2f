"""A question to a long document is put to the windows whose words are near to it."""

import pytest

from models.ernie_doc.answer import CHUNK, STRIDE, Choice, Chooser, cut_chunks
from models.reading.spans import Window, cover
from tests.models.ernie_doc.documents import chooser, document, text

FILLER = "The committee met in the hall and talked about the roof for an hour. " * 8
FACT = "The ferry to Marlow Island leaves at noon. "
QUESTION = "When does the boat to Marlow Island depart?"


def last_choice(user: Chooser, content: str, n_windows: int) -> tuple[list[Window], Choice]:
    tokens = document(content)
    windows = cover(len(tokens), 40, 30)
    *_, choice = user.choose(tokens, windows, QUESTION, n_windows)
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
    first, second = (list(user.choose(tokens, windows, question, 2)) for question in (QUESTION, "Who met?"))
    assert first[:-1] == [len(cut_chunks(tokens))]
    assert second[:-1] == []


def test_chunks_cover_the_document() -> None:
    tokens = document(text(100))
    chunks = cut_chunks(tokens)
    assert chunks[0] == " ".join(tokens.text.split()[:CHUNK])
    assert chunks[1].split()[0] == tokens.text.split()[STRIDE]
    assert tokens.text.endswith(chunks[-1])
