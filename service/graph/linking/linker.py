"""The linker finds names in texts. A process has one, and its readers never wait.

All names are one immutable index behind one reference: a reader takes it once, a writer builds the next index and
swaps the reference.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from threading import Lock

from more_itertools import chunked

from service.graph.linking.completion import Entry, best
from service.graph.linking.folding import fold_text, name_key, search_key
from service.graph.linking.name_index import NameIndex
from service.graph.linking.search import Span, matches
from service.graph.linking.slips import IsCommon, Slip, find_slips
from service.graph.linking.words import unlinkable

BATCH = 8192  # names that an import adds in one step

Name = tuple[str, str]  # a name as written, and the id of an entity that it may mean


class Linker:
    """Holds the names of all versions; the caller knows which of them hold at one version."""

    def __init__(self) -> None:
        self._names = NameIndex()
        self._writing = Lock()

    def __len__(self) -> int:
        """Count the pairs of a name and an entity."""
        return self._names.n_pairs

    def add(self, names: Iterable[Name]) -> None:
        """Add all these names; raise ValueError where a name is empty; then no name is added."""
        entries = [Entry.of(name, id) for name, id in names]
        for entry in entries:
            if not entry.key:
                raise ValueError(f"a name of the entity {entry.id!r} is empty: {entry.name!r}")
        with self._writing:
            self._names = self._names.with_names(entries)

    def add_many(self, names: Iterable[Name], pause_s: float = 0.001) -> None:
        """Add the names of a large import in steps. Call this in a thread: other threads run between the steps."""
        for batch in chunked(names, BATCH):
            self.add(batch)
            time.sleep(pause_s)

    def copy(self) -> Linker:
        """Return a linker with the names of now; it shares their index."""
        copy = Linker()
        copy._names = self._names
        return copy

    def replace(self, other: Linker) -> None:
        """Replace all names by another's. Call this in a thread, and add no name meanwhile."""
        with self._writing:
            parts, self._names = self._names.parts(), other._names
        while parts:  # freeing a million names at once would stop all threads
            parts.pop()

    def find(self, text: str) -> list[Span]:
        """Find every name in a text, overlapping or not, the longest first and the leftmost among equals."""
        names, folding = self._names, fold_text(text)
        spans = matches(folding.text, names)
        if folding.starts:
            spans = [span for span in spans if not folding.splits(span.start, span.end)]
        # A name that is not linked inside a sentence is linked if it is the whole text.
        whole = folding.text.strip(" ")
        ids = names.alike(whole) if whole and unlinkable(whole) else ()
        if ids:
            start = folding.text.find(whole)
            spans.append(Span(start, start + len(whole), ids))
        spans.sort(key=lambda span: (span.start - span.end, span.start))
        if not folding.starts:
            return spans
        return [Span(*folding.original(span.start, span.end), span.ids) for span in spans]

    def find_slips(self, text: str, is_common: IsCommon) -> list[Slip]:
        """Find the names, of any version, that a text may have misspelt."""
        folding = fold_text(text)
        slips = find_slips(folding.text, self._names, is_common)
        return [Slip(*folding.original(slip.start, slip.end), slip.name) for slip in slips]

    def resolve(self, name: str) -> tuple[str, ...]:
        """Return the entities with exactly this name, in any case and with any dashes; () if none has it."""
        return self._names.entities(name_key(name))

    def find_alike(self, name: str) -> tuple[str, ...]:
        """Return the entities with this name, or with one that differs in accents alone."""
        return self.find_key(search_key(name))

    def find_key(self, key: str) -> tuple[str, ...]:
        """Return the entities with a name of this `search_key`."""
        return self._names.alike(key)

    def complete(self, prefix: str, limit: int) -> list[Name]:
        """Return names with a word that begins with the prefix: shortest first, then by the alphabet."""
        names, folding = self._names, search_key(prefix)
        if not folding or limit < 1:
            return []
        return [(entry.name, entry.id) for entry in best(names.runs, names.recent, folding, limit)]
