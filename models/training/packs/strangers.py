"""Names the pack does not hold, so that a model can be shown, and tested on, questions it should decline."""

from collections import defaultdict
from collections.abc import Iterable

from models.packs.pack import Stranger
from models.training.packs.chance import rank
from models.training.packs.cleaning import is_label, words
from models.training.packs.naming import key
from models.training.packs.raw import RawFact, Source

MOST_STRANGERS = 1500


class Known:
    """Tells whether a name, word for word, holds a name of the pack or is part of one."""

    def __init__(self, names: Iterable[str]) -> None:
        self._whole = {words(name) for name in names} - {()}
        self._spans = {span for name in self._whole for span in _spans(name)}

    def touches(self, label: str) -> bool:
        found = words(label)
        return found in self._spans or any(span in self._whole for span in _spans(found))


def strangers(
    facts: Iterable[RawFact], names: Iterable[str], spoken: set[str], most: int = MOST_STRANGERS
) -> list[Stranger]:
    """Equally many of each relation, half to tune on and half to test on; each name once."""
    known = Known(names)
    by_relation: dict[str, dict[str, str]] = defaultdict(dict)
    for fact in facts:
        if fact.source == Source.ENTITYQUESTIONS and _is_stranger(fact.subject, known, spoken):
            by_relation[fact.relation].setdefault(key(fact.subject), fact.subject)
    share = most // max(len(by_relation), 1) // 2 * 2
    used: set[str] = set()
    drawn: list[Stranger] = []
    for relation, found in sorted(by_relation.items()):
        chosen = sorted((label for label in found if label not in used), key=lambda s: rank(relation, s))[
            :share
        ]
        used.update(chosen)
        for place, label in enumerate(chosen):
            drawn.append(Stranger(found[label], relation, "tune" if place % 2 == 0 else "test"))
    return sorted(drawn, key=lambda stranger: (stranger.relation_id, stranger.subject))


def _is_stranger(label: str, known: Known, spoken: set[str]) -> bool:
    return (
        is_label(label)
        and bool(words(label))
        and not spoken.issuperset(words(label))
        and not known.touches(label)
    )


def _spans(name: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    return (name[start:end] for start in range(len(name)) for end in range(start + 1, len(name) + 1))
