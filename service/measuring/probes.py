"""The questions on which the side effects of an edit are measured: a fixed set, and others where effects are likely.

The fixed set is comparable between edits. The others are all that the change may touch, where the system can tell;
else those nearest in words: the same subject with another relation, the same relation with another subject.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from math import log
from pathlib import Path

from models.packs.pack import WORLD, Pack
from service.measuring.wording import plain, words

# What each model was taught; a model without a pack has no probes.
PACKS: Mapping[str, Path] = {"nkb": WORLD, "kbert": WORLD}
NEAR_EACH, MOST = 8, 200  # one that was not asked before takes as long to read as many that were


@dataclass(frozen=True)
class Chosen:
    """asked: to be compared. covered: of all these, in plain wording, it is then known whether they changed.

    unmeasured_probes: how many others may have changed for all that is known.
    """

    asked: list[str]
    covered: Set[str]
    unmeasured_probes: int


class Probes:
    """fixed: looked at on every commit. others: what there is to choose from."""

    def __init__(self, fixed: Sequence[str] = (), others: Sequence[str] = ()) -> None:
        self.fixed, self._others = tuple(fixed), tuple(others)

    @staticmethod
    def of(model: str) -> Probes:
        """PackError when the model's pack is damaged."""
        folder = PACKS.get(model)
        if folder is None:
            return Probes()
        pack = Pack.load(folder)
        others = [item.relation.question(item.subject.label) for item in pack.items()]
        return Probes([probe.question for probe in pack.probes], others)

    def about(self, edited: Sequence[str], touched: Sequence[str] | None) -> Chosen:
        """The fixed ones and others, each once, without the edited questions themselves.

        touched: all others that may be answered otherwise, those to be asked first; None where nobody can tell.
        """
        own = {plain(question) for question in edited}
        others = list(self._near(edited)) if touched is None else touched
        others = [question for question in others if plain(question) not in own]
        fixed = [question for question in self.fixed if plain(question) not in own]
        asked = list(dict.fromkeys([*fixed, *others[:MOST]]))
        covered = {plain(question) for question in asked}
        if touched is not None:
            covered |= self._all - own - {plain(question) for question in others[MOST:]}
        return Chosen(asked, covered, len(self._all - own - covered))

    @cached_property
    def _all(self) -> Set[str]:
        return {plain(question) for question in (*self.fixed, *self._others)}

    def _near(self, edited: Sequence[str]) -> Iterator[str]:
        share = min(NEAR_EACH, max(1, MOST // max(1, len(edited))))
        for one in edited[:MOST]:
            yield from self._nearest(one, share)

    def _nearest(self, question: str, most: int) -> Iterable[str]:
        """Those with the most words in common; a rare word counts for more.

        The rarest word first: once it and the next have found enough, commoner words only decide among those.
        """
        scores: dict[int, float] = {}
        for word in sorted(
            words(question) & self._index.keys(), key=lambda word: (len(self._index[word]), word)
        ):
            places = self._index[word]
            near = places if len(scores) < most else scores.keys() & places
            weight = log(1 + len(self._others) / len(places))
            scores |= {place: scores.get(place, 0.0) + weight for place in near}
        best = sorted(scores, key=lambda place: (-scores[place], place))
        return (self._others[place] for place in best[:most])

    @cached_property
    def _index(self) -> Mapping[str, Set[int]]:
        """Word -> places in the others that have it."""
        index: dict[str, set[int]] = defaultdict(set)
        for place, question in enumerate(self._others):
            for word in words(question):
                index[word].add(place)
        return dict(index)
