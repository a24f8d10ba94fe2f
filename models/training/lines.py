"""The texts of each fact with their answers, and the selection of those that are trained on.

Salient span masking (Guu et al., REALM, arXiv:2002.08909; used for injection by Dai et al., arXiv:2208.00399): a
statement of the fact with its object masked. A question is the same fact with the object left out.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from models.packs.pack import Item, Pack
from models.training.phrasings import retype

MASK = "[MASK]"  # the encoder's token for a masked span


@dataclass(frozen=True)
class Line:
    """One text and the answer it asks for.

    Attributes:
        item: Index of the fact.
        form: `trained`; `tuning` and `held` (phrasings never trained on, of the writers for choices and of the writers
            for tests); or `masked` (a statement).
    """

    text: str
    answer: str
    item: int
    form: str


@dataclass(frozen=True)
class WordingRecipe:
    """The texts that ask for one fact.

    Attributes:
        n_trained: Phrasings of its relation that are drawn for each fact; the canonical one is among them.
        slip: Share of them with a wrong letter.
        bare: Share of them without a question mark.
    """

    n_trained: int
    slip: float
    bare: float


@dataclass(frozen=True)
class Split:
    """Indices of facts.

    Attributes:
        base: Facts that the backbone learns.
        replayed: Base facts that injection repeats; the loss on the others is the honest figure.
        injected: Facts that are held back, then written into the bank alone.
    """

    base: tuple[int, ...]
    replayed_items: tuple[int, ...]
    injected_items: tuple[int, ...]


def split(pack: Pack, n_injected: int, n_unreplayed: int, seed: int) -> Split:
    """Draw the facts to hold back, evenly over the relations' sizes."""
    order = list(range(len(list(pack.items()))))
    random.Random(seed).shuffle(order)
    held_back, base = order[:n_injected], order[n_injected:]
    return Split(tuple(sorted(base)), tuple(sorted(base[n_unreplayed:])), tuple(sorted(held_back)))


def lines(tuning: Pack, test: Pack, recipe: WordingRecipe, seed: int) -> list[Line]:
    """Write the lines of every fact, in the pack's order.

    Args:
        tuning: The pack, its held phrasings by the writers on whom choices are made.
        test: The same pack, its held phrasings by the writers who are tested on.
        recipe: Number of trained lines of a fact, and their slips.
        seed: Draws phrasings and slips.
    """
    rng = random.Random(f"{seed}/wordings")
    pairs = enumerate(zip(tuning.items(), test.items(), strict=True))
    return [line for index, (item, test_item) in pairs for line in _of(index, item, test_item, recipe, rng)]


def _of(index: int, item: Item, test_item: Item, recipe: WordingRecipe, rng: random.Random) -> Iterator[Line]:
    subject, relation = item.subject.label, item.relation
    canonical, *rest = relation.phrasings
    texts = rng.sample(rest, min(len(rest), recipe.n_trained - 1))
    forms = (
        ("trained", [canonical, *(retype(text, recipe.slip, recipe.bare, rng) for text in texts)]),
        ("tuning", [rng.choice(relation.held_out)]),
        ("held", [rng.choice(test_item.relation.held_out)]),
    )
    for form, templates in forms:
        for template in templates:
            yield Line(template.replace("{subject}", subject), item.answer, index, form)
    for template in relation.statements:
        yield Line(
            template.replace("{subject}", subject).replace("{object}", MASK), item.answer, index, "masked"
        )
