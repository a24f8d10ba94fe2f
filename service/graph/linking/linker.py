"""The linker: names in, names found in texts out. One per process; readers never wait.

All that is known is one immutable value behind one reference: a reader takes it once, a writer makes the next one
beside it and swaps it in.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import islice
from threading import Lock
from typing import NamedTuple

from service.graph.linking.completion import Entry, best
from service.graph.linking.folding import Folded, fold, fold_text
from service.graph.linking.matching import Span, matches, settle
from service.graph.linking.name_index import NameIndex
from service.graph.linking.words import unlinkable

__all__ = ["LinkResult", "Linker", "Name", "Span", "unlinkable"]

BATCH = 8192  # names that an import adds in one step

Name = tuple[str, str]  # a name as written, and the id of an entity that it may mean


class LinkResult(NamedTuple):
    """In text order. spans: none overlaps another. overlapped: names that overlap a longer one, or an earlier one."""

    spans: tuple[Span, ...]
    overlapped: tuple[Span, ...]


class Linker:
    """Holds every name that any version gave: whether one is in force at a version is for the caller to say."""

    def __init__(self) -> None:
        self._known = NameIndex()
        self._writing = Lock()
        self._replacing = Lock()
        self._meanwhile: list[Entry] | None = None

    def __len__(self) -> int:
        """Pairs of a name and an entity."""
        return self._known.n_pairs

    def add(self, names: Iterable[Name]) -> None:
        """All of them are seen by the next `find`, or none. ValueError when one is empty; then none is added."""
        entries = _entries(names)
        with self._writing:
            self._known = self._known.extended(entries)
            if self._meanwhile is not None:
                self._meanwhile += entries

    def add_many(self, names: Iterable[Name], pause_s: float = 0.001) -> None:
        """A large import, in steps that are seen one by one. For a thread of its own: others run between the steps."""
        left = iter(names)
        while batch := list(islice(left, BATCH)):
            self.add(batch)
            time.sleep(pause_s)

    def replace(self, names: Iterable[Name], pause_s: float = 0.001) -> None:
        """Forget all names but these and those that are added while this runs. For a thread of its own."""
        with self._replacing:
            with self._writing:
                self._meanwhile = []
            try:
                fresh = Linker()
                fresh.add_many(names, pause_s)
                with self._writing:
                    pieces = self._known.pieces()
                    self._known = fresh._known.extended(self._meanwhile)
            finally:
                with self._writing:
                    self._meanwhile = None
        while pieces:  # to free a million names at once would hold everybody up
            pieces.pop()

    def find(self, text: str) -> LinkResult:
        """The names in a text, longest first, the leftmost among equals."""
        known, folded = self._known, fold_text(text)
        found = [span for span in matches(folded.text, known) if not folded.splits(span.start, span.end)]
        spans, overlapped = settle([*found, *_whole(folded, known)], len(folded.text))
        return LinkResult(_in_original(spans, folded), _in_original(overlapped, folded))

    def resolve(self, name: str) -> tuple[str, ...]:
        """The entities that are called exactly so, whatever its letters' case; () when there is none."""
        return self._known.meant(fold(name))

    def complete(self, prefix: str, limit: int) -> list[Name]:
        """Names that begin so, or one of whose words does: shortest first, then by the alphabet."""
        known, folded = self._known, fold(prefix)
        if not folded or limit < 1:
            return []
        return [(entry.name, entry.id) for entry in best(known.runs, known.recent, folded, limit)]


def _entries(names: Iterable[Name]) -> list[Entry]:
    entries = [Entry.of(fold(name), name, id) for name, id in names]
    for entry in entries:
        if not entry.folded:
            raise ValueError(f"a name of the entity {entry.id!r} is empty: {entry.name!r}")
    return entries


def _whole(folded: Folded, known: NameIndex) -> list[Span]:
    """A name that is not linked inside a sentence is linked where it is all there is."""
    name = folded.text.strip(" ")
    ids = known.meant(name) if name and unlinkable(name) else ()
    start = folded.text.find(name)
    return [Span(start, start + len(name), ids)] if ids else []


def _in_original(spans: Sequence[Span], folded: Folded) -> tuple[Span, ...]:
    if not folded.starts:
        return tuple(spans)
    return tuple(Span(*folded.original(span.start, span.end), span.ids) for span in spans)
