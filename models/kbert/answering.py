"""A batch of questions through K-Query, K-Inject and the encoder: what each could be answered with, and how likely.

Rows of one pass are of like length, and what is computed of a row depends on no other row and on no padding (1e-5).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from models.kbert.batch import Batch, collate
from models.kbert.choice import Chosen, choose, labels
from models.kbert.default import Model
from models.kbert.errors import InputRefused
from models.kbert.options import Options, options
from models.kbert.planted import Planted, plant
from models.kbert.relevance import masked
from models.system import Ask

ROWS, SCORES = 64, 64 * 128 * 128  # of one pass: rows, and places of its attention matrices


@dataclass(frozen=True)
class Read:
    """chosen: the mentions, taken for an entity each. planted, options: None when there was nothing to point at."""

    chosen: tuple[Chosen, ...]
    planted: Planted | None = None
    options: Options | None = None


class Answerer:
    """Thread-safe."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def read(self, asks: Sequence[Ask]) -> list[Read]:
        chosen = self._choose(asks)
        planted = [self._plant(ask, one) for ask, one in zip(asks, chosen, strict=True)]
        there = [one for one in planted if one is not None]
        found = iter(self._options(there))
        return [
            Read(one, tree, None if tree is None else next(found))
            for one, tree in zip(chosen, planted, strict=True)
        ]

    def fits(self, pairs: Sequence[tuple[Ask, Read, str]]) -> list[float | None]:
        """Log-odds that a text answers a question, before support. None for a text that holds no token."""
        planted = [self._pair(ask, read, text) for ask, read, text in pairs]
        there = [one for one in planted if one is not None]
        found: list[float] = [0.0] * len(there)
        for places, _, states in self._passes(there):
            for place, logit in zip(places, self.model.heads.fits(states[:, 0]).tolist(), strict=True):
                found[place] = logit
        given = iter(found)
        return [None if one is None else next(given) for one in planted]

    def _choose(self, asks: Sequence[Ask]) -> list[tuple[Chosen, ...]]:
        """Masked questions of the whole batch are read in one pass."""
        wanted = [(ask, mention) for ask in asks if ask.linked for mention in ask.mentions]
        ranks = iter(
            self.model.relevance.ranks([(masked(a.question, m.start, m.end), labels(m)) for a, m in wanted])
        )
        limits = self.model.settings
        return [
            tuple(
                choose(
                    ask.mentions,
                    [next(ranks) for _ in ask.mentions],
                    limits.max_entities,
                    limits.max_mentions,
                )
            )
            if ask.linked
            else ()
            for ask in asks
        ]

    def _plant(self, ask: Ask, chosen: Sequence[Chosen]) -> Planted | None:
        """Without facts it is read as by a plain BERT, which leaves nothing to point at but the context."""
        return self._planted(ask.question, ask.context or None, chosen)

    def _pair(self, ask: Ask, read: Read, text: str) -> Planted | None:
        return self._planted(ask.question, text, read.chosen)

    def _planted(self, question: str, second: str | None, chosen: Sequence[Chosen]) -> Planted | None:
        try:
            return plant(question, second, chosen, self.model.tokens, self.model.settings.reading)
        except InputRefused:
            return None

    def _options(self, planted: Sequence[Planted]) -> list[Options]:
        found: list[Options] = [Options((), 0.0)] * len(planted)
        heads = self.model.heads
        for places, batch, states in self._passes(planted):
            some = [planted[place] for place in places]
            read = options(some, batch, heads.point(states), heads.rank_weight)
            for place, one in zip(places, read, strict=True):
                found[place] = one
        return found

    def _passes(self, planted: Sequence[Planted]) -> Iterator[tuple[list[int], Batch, Tensor]]:
        for places in _alike([len(one.row) for one in planted]):
            batch = collate([planted[place].row for place in places], self.model.tokens.padding)
            yield places, batch, self.model.encoder.read(batch)


def _alike(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of rows that go through the encoder together, the shortest first."""
    some: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        if some and (len(some) == ROWS or (len(some) + 1) * lengths[place] ** 2 > SCORES):
            yield some
            some = []
        some.append(place)
    if some:
        yield some
