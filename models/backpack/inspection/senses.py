"""A word by its senses: the words that each favours, how strong it is, and which edits changed it.

Hewitt et al., arXiv:2305.16765, section 4: the logits E C(x)_l show what a sense of x predicts, whatever
stands beside it.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from models.backpack.answering.reader import Reader
from models.backpack.editing.operation import read_senses
from models.backpack.inspection.words import find_word
from models.backpack.memory import SensesView
from models.senses import ScoredWord, Sense, SensesInquiry, WordSenses, check_senses


@torch.inference_mode()
def show_senses(reader: Reader, inquiry: SensesInquiry, view: SensesView) -> WordSenses:
    """Return the senses of a word at a version.

    Raises:
        BadInquiry: The word is several pieces, or a sense is unknown.
    """
    model = reader.model
    check_senses(inquiry.senses, model.config.senses, "senses")
    word = find_word(reader.speller, inquiry.word, "word", inquiry.exact, inquiry.first_piece)
    base = read_senses(model, word.token)
    rows, factors = base, torch.ones_like(base[:, 0])
    if view.overlay is not None:
        rows, factors = view.overlay.rows_by_token.get(word.token, (rows, factors))
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
