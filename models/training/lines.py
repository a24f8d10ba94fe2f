"""Which text is asked for which answer, and who gets to see it in training.

Salient span masking (Guu et al., REALM, arXiv:2002.08909; used for injection by Dai et al., arXiv:2208.00399): a
statement of the fact with its object masked. Questions are the same fact with the object left to be said.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from models.packs.pack import Item, Pack

MASK = "[MASK]"  # the encoder's own word for a span left out


@dataclass(frozen=True)
class Line:
    """One text and the answer it asks for.

    item: index of the fact. form: `trained`, `held` (phrasings never trained on) or `masked` (a statement).
    """

    text: str
    answer: str
    item: int
    form: str


@dataclass(frozen=True)
class Split:
    """Indices of facts. base: the backbone learns them. replayed: those of base that injection repeats; the loss
    on the others is the honest figure. injected: held back, then written into the bank alone."""

    base: tuple[int, ...]
    replayed_items: tuple[int, ...]
    injected_items: tuple[int, ...]


def split(pack: Pack, n_injected: int, n_unreplayed: int, seed: int) -> Split:
    """Draw the facts to hold back, evenly over the relations' sizes."""
    order = list(range(len(list(pack.items()))))
    random.Random(seed).shuffle(order)
    held_back, base = order[:n_injected], order[n_injected:]
    return Split(tuple(sorted(base)), tuple(sorted(base[n_unreplayed:])), tuple(sorted(held_back)))


def lines(pack: Pack) -> list[Line]:
    """Every line of every fact, in the pack's order."""
    return [line for index, item in enumerate(pack.items()) for line in _of(index, item)]


def _of(index: int, item: Item) -> Iterator[Line]:
    subject, relation = item.subject.label, item.relation
    for form, templates in (("trained", relation.phrasings), ("held", relation.held_out)):
        for template in templates:
            yield Line(template.replace("{subject}", subject), item.answer, index, form)
    for template in relation.statements:
        yield Line(
            template.replace("{subject}", subject).replace("{object}", MASK), item.answer, index, "masked"
        )
