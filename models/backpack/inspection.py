"""A word by its senses: the words that each favours, how strong it is, and which edits changed it.

Hewitt et al., arXiv:2305.16765, section 4: the logits E C(x)_l show what a sense of x predicts, whatever stands beside
it.
"""

from difflib import get_close_matches
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from models.backpack.editing.overlay import read_row, read_senses
from models.backpack.memory import SensesView
from models.backpack.reader import Reader
from models.backpack.speller import Speller
from models.senses import BadInquiry, ScoredWord, Sense, SensesInquiry, WordSenses, check_senses

N_SIMILAR = 3  # words that are named where one is not known


class Word(NamedTuple):
    """A word of the vocabulary: its id, its text to the letter, and what a reader should know of it."""

    token: int
    text: str
    warnings: tuple[str, ...] = ()


@torch.inference_mode()
def show_senses(reader: Reader, inquiry: SensesInquiry, view: SensesView) -> WordSenses:
    """Return the senses of a word at a version.

    Raises:
        BadInquiry: The word is several pieces, or a sense is unknown.
    """
    model = reader.model
    check_senses(inquiry.senses, model.config.senses, "senses")
    word = find_word(reader.speller, inquiry)
    base = read_senses(model, word.token)
    rows, factors = read_row(model, view.overlay, word.token)
    edits = view.edits_by_token.get(word.token, ())
    senses = tuple(
        Sense(
            number,
            strength=float(rows[number].norm() * factors[number]),
            base_strength=float(base[number].norm()),
            factor=float(factors[number]),
            top=_name_words(reader, rows[number], inquiry.top_k),
            bottom=_name_words(reader, -rows[number], inquiry.top_k, sign=-1.0),
            edits=tuple(edit for edit in edits if number in view.senses_by_edit[edit]),
        )
        for number in inquiry.senses or range(model.config.senses)
    )
    return WordSenses(word.text, word.token, senses, word.warnings)


def _name_words(
    reader: Reader, row: Float[Tensor, " width"], limit: int, sign: float = 1.0
) -> tuple[ScoredWord, ...]:
    """Return the words that a vector favours most."""
    model = reader.model
    top = model.mask_padding(model.embedding @ row).topk(min(limit, model.config.words))
    pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
    return tuple(ScoredWord(reader.speller.read([token]), sign * logit) for token, logit in pairs)


def find_word(speller: Speller, inquiry: SensesInquiry) -> Word:
    """Return the token of a word: the one behind a space where there is one, as in a running text.

    Raises:
        BadInquiry: The word is empty, or several pieces.
    """
    word = inquiry.word
    if not word.strip(" "):
        raise BadInquiry("the word is empty: name one that stands in texts", "word")
    texts = [word] if inquiry.exact or word.startswith(" ") else [f" {word}", word]
    for text in texts:
        if len(tokens := speller.spell(text)) == 1:
            return Word(tokens[0], text, _warn_of_other_form(speller, text))
    pieces = speller.spell(texts[0])
    listing = speller.list_pieces(pieces)
    if inquiry.first_piece:
        warning = (
            f"{texts[0]!r} is {len(pieces)} pieces ({listing}): this is the first one, in all words with it"
        )
        return Word(pieces[0], speller.read(pieces[:1]), (warning,))
    similar = ", ".join(map(repr, _find_similar(speller, word)))
    advice = f"; words of the vocabulary like it are {similar}" if similar else ""
    detail = f"{word!r} is no word of the vocabulary but {len(pieces)} pieces ({listing}): name one of them"
    raise BadInquiry(f"{detail}, or set first_piece{advice}", "word")


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
