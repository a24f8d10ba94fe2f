"""Characters and word pieces, and vocabularies from files."""

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from models.encoder.weights import find
from models.kbert import (
    Characters,
    CheckpointError,
    Graph,
    LongestMatch,
    Reader,
    ReadingConfig,
    Triple,
    WordPieces,
    read_tokens,
)

SENTENCES = [
    "What's the capital of Perú?",
    "Naïve co-operation costs €5 (U.S.)!",
    "東京 is Tokyo",
    "a_b\u200bc d",
]


@pytest.fixture(scope="module")
def pieces() -> WordPieces:
    return WordPieces(Tokenizer.from_file(str(find().tokenizer)))


def english(pieces: WordPieces, *triples: Triple) -> Reader:
    graph = Graph(triples, predicate=True, separator=" ")
    return Reader(ReadingConfig(64, 2), pieces, LongestMatch(graph.subjects(), "word"), graph)


def test_unknown_characters_are_unk_and_upper_case_is_lowered_unless_told(vocabulary: dict[str, int]) -> None:
    assert [piece.id for piece in Characters(vocabulary).split("Aa薩 ")] == [
        vocabulary["a"],
        vocabulary["a"],
        vocabulary["[UNK]"],
        vocabulary["[UNK]"],
    ]
    assert Characters(vocabulary, lowercase=False).split("A")[0].id == vocabulary["[UNK]"]


@pytest.mark.parametrize("text", SENTENCES)
def test_without_facts_word_pieces_are_those_of_the_whole_text(pieces: WordPieces, text: str) -> None:
    plain = Tokenizer.from_file(str(find().tokenizer))
    plain.no_padding()
    row = english(pieces).single(text)
    read = plain.encode(text, add_special_tokens=False)
    assert [token.id for token in row.tokens[1:]] == read.ids
    assert [(token.start, token.end) for token in row.tokens[1:]] == read.offsets


def test_facts_hang_on_whole_words_in_word_pieces(pieces: WordPieces) -> None:
    row = english(pieces, Triple("Peru", "capital", "Cusco")).single("Peru's capital")
    facts = [(token.text, token.position) for token in row.tokens if token.injected]
    assert facts == [("capital", 2), ("cu", 2 + 1), ("##sco", 2 + 2)]


def test_a_tag_spelt_in_a_text_is_characters_to_word_pieces_too(pieces: WordPieces) -> None:
    assert pieces.tag("[SEP]").id not in [piece.id for piece in pieces.split("[SEP]")]


def test_a_word_of_which_no_token_is_left_goes(pieces: WordPieces) -> None:
    row = english(pieces, Triple("\u0301", "is", "an accent"), Triple("b", "is", "\u0301")).single(
        "a \u0301 b"
    )
    assert [token.text for token in row.tokens] == ["[CLS]", "a", "b", "is"]
    assert [(one.fact.triple.object, one.why) for one in row.tree.left_out] == [("an accent", "empty")]


def test_vocabularies_come_from_a_list_or_from_lines(vocabulary: dict[str, int], tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps(list(vocabulary)))
    listed = read_tokens(tmp_path).split("爱")
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    assert read_tokens(tmp_path).split("爱") == listed
    assert listed[0].id == vocabulary["爱"]


def test_a_folder_without_a_vocabulary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"neither vocab\.txt nor vocab\.json"):
        read_tokens(tmp_path)
    with pytest.raises(CheckpointError, match=r"no tokenizer\.json"):
        read_tokens(tmp_path, "wordpiece")


def test_a_vocabulary_that_is_no_berts_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"lacks \[UNK\], \[CLS\]"):
        Characters({"[PAD]": 0, "a": 1, "[SEP]": 2, "[MASK]": 3})
