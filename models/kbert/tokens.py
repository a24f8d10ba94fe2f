"""From words to tokens: single characters, as the authors do, or word pieces (specs/kbert.md, section 3.1)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from tokenizers import Tokenizer

from models.checkpoint import CheckpointError
from models.kbert.tags import CLS, MASK, PAD, SEP, UNK

Granularity = Literal["char", "wordpiece"]
NEEDED = (PAD, UNK, CLS, SEP, MASK)


@dataclass(frozen=True, slots=True)
class Piece:
    """One token; text[start:end] of the text that was split is what it stands for."""

    text: str
    id: int
    start: int
    end: int


@runtime_checkable
class Tokens(Protocol):
    def split(self, text: str) -> Sequence[Piece]:
        """The tokens of a word or a value. A tag spelt in it is characters like any other."""
        ...

    def tag(self, name: str) -> Piece: ...

    @property
    def padding(self) -> int:
        """The id of [PAD]."""
        ...


class Characters:
    """Every character is a token, space too; unknown ones are [UNK]. lowercase=False for parity."""

    def __init__(self, vocabulary: Mapping[str, int], lowercase: bool = True) -> None:
        _check(vocabulary)
        self._ids = vocabulary
        self._unknown = vocabulary[UNK]
        self._lowercase = lowercase
        self.padding = vocabulary[PAD]

    def split(self, text: str) -> list[Piece]:
        return [self._piece(character, place) for place, character in enumerate(text)]

    def tag(self, name: str) -> Piece:
        return Piece(name, self._ids.get(name, self._unknown), 0, len(name))

    def _piece(self, character: str, place: int) -> Piece:
        token = character.lower() if self._lowercase else character
        return Piece(token, self._ids.get(token, self._unknown), place, place + 1)


class WordPieces:
    """The word pieces of a Hugging Face tokenizer, which lower-cases or not as it was made to."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())  # its switches are set below
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True
        self._ids = self._tokenizer.get_vocab(with_added_tokens=True)
        _check(self._ids)
        self.padding = self._ids[PAD]

    def split(self, text: str) -> list[Piece]:
        read = self._tokenizer.encode(text, add_special_tokens=False)
        spans = zip(read.tokens, read.ids, read.offsets, strict=True)
        return [Piece(token, number, start, end) for token, number, (start, end) in spans]

    def tag(self, name: str) -> Piece:
        return Piece(name, self._ids.get(name, self._ids[UNK]), 0, len(name))


class Recalled:
    """Tokens that remember what they split: the same questions and facts come again and again."""

    def __init__(self, tokens: Tokens, most: int = 1 << 15) -> None:
        self._tokens = tokens
        self._split = lru_cache(most)(lambda text: tuple(tokens.split(text)))
        self.padding = tokens.padding

    def split(self, text: str) -> Sequence[Piece]:
        return self._split(text)

    def tag(self, name: str) -> Piece:
        return self._tokens.tag(name)


def read_tokens(folder: Path, granularity: Granularity = "char", lowercase: bool = True) -> Tokens:
    """The tokens of a checkpoint folder: vocab.txt or vocab.json for characters, tokenizer.json for pieces."""
    if granularity == "char":
        return Characters(read_vocabulary(folder), lowercase)
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise CheckpointError(f"{folder} has no tokenizer.json, from which word pieces are made")
    return WordPieces(Tokenizer.from_file(str(path)))


def read_vocabulary(folder: Path) -> dict[str, int]:
    """Tokens in the order of their ids: one a line in vocab.txt, or a JSON list in vocab.json."""
    text, listed = folder / "vocab.txt", folder / "vocab.json"
    if text.is_file():
        names = text.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        return {name.removesuffix("\r"): place for place, name in enumerate(names)}
    if listed.is_file():
        return {name: place for place, name in enumerate(json.loads(listed.read_text(encoding="utf-8")))}
    raise CheckpointError(f"{folder} has neither vocab.txt nor vocab.json")


def _check(vocabulary: Mapping[str, int]) -> None:
    missing = [name for name in NEEDED if name not in vocabulary]
    if missing:
        raise CheckpointError(f"the vocabulary lacks {', '.join(missing)}: not a BERT's")
