"""Tokens know the characters of the original text, whatever the tokenizer made of them."""

import pytest

from models.reading.document import DocumentRefused, tokenize
from tests.models.ernie_doc.documents import document, tokenizer


def test_tokens_are_cut_from_the_original_text() -> None:
    text = "Café  Münster,\n\n‘Zürich’ costs 4,180 € – naïvely."
    content = document(text)
    pieces = [text[slice(*content.cut(place, place))] for place in range(len(content))]
    words = [text[slice(*content.cut(0, 0))], text[slice(*content.cut(1, 1))]]
    assert words[0] == "Café"
    assert "Zürich" in text[slice(*content.cut(0, len(content) - 1))]
    assert "".join(pieces) == "".join(text.split())


def test_pieces_of_a_word_belong_together() -> None:
    content = document("unbelievably pumped")
    assert len(content) > 2
    begins = [place for place, first in enumerate(content.begins_word.tolist()) if first]
    ends = [place for place, last in enumerate(content.ends_word.tolist()) if last]
    assert [content.cut(*ends_of) for ends_of in zip(begins, ends, strict=True)] == [(0, 12), (13, 19)]


def test_a_single_word_begins_and_ends() -> None:
    content = document("unbelievably")
    assert content.begins_word[0]
    assert content.ends_word[-1]
    assert int(content.begins_word.sum()) == 1


@pytest.mark.parametrize("text", ["", "  \n\t ", "\u200b"])
def test_a_text_without_words_is_refused(text: str) -> None:
    with pytest.raises(DocumentRefused, match="the document has no words"):
        document(text)


def test_a_document_above_the_limit_is_refused() -> None:
    with pytest.raises(DocumentRefused, match="has 12 tokens, and at most 10 are read"):
        tokenize("pump " * 12, tokenizer(), most_tokens=10)
