"""Finds the token whose senses a person means by a written word."""

from difflib import get_close_matches
from typing import NamedTuple

from models.backpack.answering.prompt import Speller
from models.senses import BadInquiry

N_SIMILAR = 3  # words that are named where one is not known


class Word(NamedTuple):
    """A word of the vocabulary: its id, its text to the letter, and what a reader should know of it."""

    token: int
    text: str
    warnings: tuple[str, ...] = ()


def find_word(
    speller: Speller, word: str, field: str, exact: bool = False, first_piece: bool = False
) -> Word:
    """Return the token of a word: the one behind a space where there is one, as in a running text.

    Args:
        speller: Texts as tokens.
        word: The word.
        field: What the word is for, for the error.
        exact: Whether to take the word as it is written, without a space.
        first_piece: Whether to take the first piece of several.

    Raises:
        BadInquiry: The word is empty, or several pieces.
    """
    if not word.strip(" "):
        raise BadInquiry("the word is empty: name one that stands in texts", field)
    texts = [word] if exact or word.startswith(" ") else [f" {word}", word]
    for text in texts:
        if len(tokens := speller.spell(text)) == 1:
            return Word(tokens[0], text, _warn_of_other_form(speller, text))
    tokens = speller.spell(texts[0])
    pieces = [speller.read([token]) for token in tokens]
    listing = ", ".join(map(repr, pieces))
    if first_piece:
        warning = (
            f"{texts[0]!r} is {len(pieces)} pieces ({listing}): this is the first one, in all words with it"
        )
        return Word(tokens[0], pieces[0], (warning,))
    similar = ", ".join(map(repr, _find_similar(speller, word)))
    advice = f"; words of the vocabulary like it are {similar}" if similar else ""
    detail = f"{word!r} is no word of the vocabulary but {len(pieces)} pieces ({listing}): name one of them"
    raise BadInquiry(f"{detail}, or set first_piece{advice}", field)


def _warn_of_other_form(speller: Speller, text: str) -> tuple[str, ...]:
    other = text[1:] if text.startswith(" ") else f" {text}"
    if len(speller.spell(other)) != 1:
        return ()
    place = "at the start of a text" if text.startswith(" ") else "behind a space"
    return (f"{place} it is another token, {other!r}, with other senses",)


def _find_similar(speller: Speller, word: str) -> list[str]:
    """Return words of the vocabulary that are spelt like a word."""
    vocabulary = speller.tokenizer.get_vocab().values()
    texts = (speller.read([token]) for token in vocabulary)
    known_words = sorted({text.strip() for text in texts if text.startswith(" ") and text.strip().isalpha()})
    return get_close_matches(word.strip(), known_words, N_SIMILAR)
