"""Word pieces keep their places in the text, and a name is found as whole words."""

import pytest
from tokenizers import Tokenizer

from models.encoder.weights import find
from models.kbert.checkpoint import CheckpointError
from models.kbert.tree import grow
from models.kit.text import Word, WordPieces, contains_name

SENTENCES = [
    "What's the capital of Perú?",
    "Naïve co-operation costs €5 (U.S.)!",
    "東京 is Tokyo",
    "a_b\u200bc d",
]


@pytest.mark.parametrize("text", SENTENCES)
def test_word_pieces_are_those_of_the_tokenizer(pieces: WordPieces, text: str) -> None:
    tokenizer = find().tokenizer()
    tokenizer.no_padding()
    expected = tokenizer.encode(text, add_special_tokens=False)
    actual = pieces.split(text)
    assert [piece.id for piece in actual] == expected.ids
    assert [(piece.start, piece.end) for piece in actual] == expected.offsets


def test_a_tag_spelt_in_a_text_is_characters(pieces: WordPieces) -> None:
    assert pieces.tag("[SEP]").id not in [piece.id for piece in pieces.split("[SEP]")]


def test_words_and_facts_of_which_no_token_is_left_go(pieces: WordPieces) -> None:
    tree = grow([Word("\u0301"), Word("b")], [["an accent"], ["\u0301", "is"]], pieces)
    assert [node.word.text for node in tree.nodes] == ["b"]
    assert [(branch.text, branch.number) for branch in tree.branches] == [("is", 2)]


def test_a_vocabulary_that_is_no_berts_is_refused() -> None:
    from tokenizers.models import WordLevel

    with pytest.raises(CheckpointError, match=r"lacks \[UNK\], \[CLS\]"):
        WordPieces(Tokenizer(WordLevel({"[PAD]": 0, "a": 1, "[SEP]": 2, "[MASK]": 3}, unk_token="a")))


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("in oslo.", "oslo", True),
        ("oslofjord", "oslo", False),
        ("oslofjord, oslo", "oslo", True),
        ("a", "", False),
    ],
)
def test_a_name_is_found_as_whole_words(text: str, name: str, expected: bool) -> None:
    assert contains_name(text, name) is expected
