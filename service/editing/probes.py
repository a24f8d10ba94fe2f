"""The questions on which the side effects of an edit are measured: a fixed set, and those that are nearest to it.

The fixed set is comparable between edits. The near ones are where a side effect is most likely: the same subject
with another relation, the same relation with another subject.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from math import log
from pathlib import Path

from models.packs.pack import WORLD, Pack
from service.editing.wording import plain, words

# What each model was taught; a model without a pack has no probes.
PACKS: Mapping[str, Path] = {"nkb": WORLD, "kbert": WORLD}
NEAR_EACH, NEAR_IN_ALL = 8, 200  # one that was not asked before takes as long to read as many that were


class Probes:
    """fixed: asked on every commit. others: what there is to choose the near ones from."""

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

    def about(self, edited: Sequence[str]) -> list[str]:
        """The fixed ones and the nearest others, each once, without the edited questions themselves."""
        known = {plain(question) for question in edited}
        share = min(NEAR_EACH, max(1, NEAR_IN_ALL // max(1, len(edited))))
        near = [question for one in edited[:NEAR_IN_ALL] for question in self._nearest(one, share)]
        return [q for q in dict.fromkeys([*self.fixed, *near]) if plain(q) not in known]

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
