"""Draws the names that the pack does not hold, equally many of each relation."""

from collections import defaultdict
from collections.abc import Iterable
from hashlib import sha256

from models.packs.names import Half, Name
from models.training.packs.chance import rank
from models.training.packs.cleaning import is_label
from models.training.packs.naming import key
from models.training.packs.raw import RawFact

LONGEST = 60  # characters
EACH: dict[Half, int] = {"train": 350, "test": 500}  # names of a relation


def names(facts: Iterable[RawFact], held: Iterable[str]) -> list[Name]:
    """held: every name of the pack, none of which is drawn. Sorted by relation and name."""
    known = {key(name) for name in held}
    found: dict[tuple[str, Half], dict[str, str]] = defaultdict(dict)
    for fact in facts:
        name = fact.subject
        if is_label(name) and len(name) <= LONGEST and key(name) not in known:
            found[fact.relation, _half(name)].setdefault(key(name), name)
    drawn = [
        Name(name, relation, half)
        for (relation, half), some in found.items()
        for name in sorted(some.values(), key=lambda one: rank(relation, one))[: EACH[half]]
    ]
    return sorted(drawn, key=lambda one: (one.relation_id, one.name))


def _half(name: str) -> Half:
    return "test" if sha256(key(name).encode()).digest()[0] % 4 == 0 else "train"
