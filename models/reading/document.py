"""A document as tokens that know their characters, so that an answer is cut from the text itself."""

import re
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from tokenizers import Tokenizer
from torch import Tensor

# Marks of notes at a figure, as in 1911²; a power of ten is none
NOTE_MARK = re.compile(r"(?<=\d\d)(?<!\b10)[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}(?!\w)")


class DocumentRefused(ValueError):
    """A document or question that cannot be read. The sentence says why."""


@dataclass(frozen=True)
class Document:
    """A tokenized text."""

    text: str
    ids: Int[Tensor, " token"]  # ids of the tokens, without special ones
    starts: Int[Tensor, " token"]  # first character of each token in the text
    ends: Int[Tensor, " token"]  # character behind each token
    words: Int[Tensor, " token"]  # number of the word that each token is a part of

    def __len__(self) -> int:
        return len(self.ids)

    def cut(self, first: int, last: int) -> tuple[int, int]:
        """Return the characters from the first token to the last, as start and end in the text."""
        return int(self.starts[first]), int(self.ends[last])

    @property
    def begins_word(self) -> Bool[Tensor, " token"]:
        """True where a token is the first of its word."""
        return torch.cat([torch.tensor([True]), self.words[1:] != self.words[:-1]])

    @property
    def ends_word(self) -> Bool[Tensor, " token"]:
        """True where a token is the last of its word."""
        return self.begins_word.roll(-1)  # the first token begins a word, so the last ends one


def tokenize(text: str, tokenizer: Tokenizer, most_tokens: int) -> Document:
    """Split a text into tokens. DocumentRefused: there is no token in the text, or there are too many.

    A mark of a note is read as a space, so that it is no part of the figure before it.
    """
    readable = NOTE_MARK.sub(lambda mark: " " * len(mark[0]), text)
    encoding = tokenizer.encode(readable, add_special_tokens=False)
    if not encoding.ids:
        raise DocumentRefused("the document has no words: give a text")
    if len(encoding.ids) > most_tokens:
        raise DocumentRefused(
            f"the document has {len(encoding.ids):,} tokens, and at most {most_tokens:,} are read: split it"
        )
    starts, ends = torch.tensor(encoding.offsets).unbind(1)
    return Document(text, torch.tensor(encoding.ids), starts, ends, torch.tensor(encoding.word_ids))
