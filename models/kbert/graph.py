"""What the graph says of a word, in an order that never depends on chance (specs/kbert.md, section 2).

The authors keep the values of a subject in a hash set, so which ones are taken differs between runs. Here they
stay in file order, and a value that comes a second time is dropped there.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from models.kbert.errors import GraphRefused
from models.kbert.triples import Triple, fault


@dataclass(frozen=True, slots=True)
class Fact:
    """text: what is hung on the word; the last len(triple.object) characters of it are the object."""

    text: str
    triple: Triple


@runtime_checkable
class Knowledge(Protocol):
    """Anything that answers K-Query: a Graph here, the graph in Redis there."""

    def facts(self, key: str) -> Sequence[Fact]:
        """The facts of one subject, best known order first; none for a stranger."""
        ...


class Graph:
    """Triples by subject. Never changes: an edited graph is a new one.

    predicate: a value is predicate + separator + object (classification, ranking), else the object alone
    (tagging). separator: nothing in the authors' Chinese; a space where words have spaces between them.
    limit: at most so many triples.
    """

    def __init__(
        self, triples: Iterable[Triple], *, predicate: bool, separator: str = "", limit: int | None = None
    ) -> None:
        self.triples = tuple(triples)
        if limit is not None and len(self.triples) > limit:
            raise GraphRefused(f"the graph has {len(self.triples)} triples, {limit} are allowed")
        self.repeated = 0
        self._facts: dict[str, dict[str, Fact]] = {}
        for triple in self.triples:
            _check(triple)
            text = f"{triple.predicate}{separator}{triple.object}" if predicate else triple.object
            self._add(Fact(text, triple))

    def facts(self, key: str) -> tuple[Fact, ...]:
        return tuple(self._facts.get(key, {}).values())

    def subjects(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        """How many values it holds; `repeated` were dropped."""
        return sum(map(len, self._facts.values()))

    def _add(self, fact: Fact) -> None:
        values = self._facts.setdefault(fact.triple.subject, {})
        if fact.text in values:
            self.repeated += 1
        else:
            values[fact.text] = fact


def _check(triple: Triple) -> None:
    reason = fault(triple.subject, triple.predicate, triple.object)
    if reason is not None:
        where = f"{triple.source}, line {triple.line}: " if triple.source else ""
        raise GraphRefused(f"{where}{triple.subject!r} {triple.predicate!r} {triple.object!r}: {reason}")


NO_GRAPH = Graph((), predicate=True)
"""`kg="none"`: K-BERT reads as a plain BERT."""
