"""A cache of questions and of the gates that open for them: the probes of one edit are those of the next.

Reading a question costs most, comparing it with ten thousand gates next. Both are done once, and a table that has
grown by a row is compared in that row.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from cachetools import LRUCache

from models.scope.gates import GateMatch, Gates, match_pairs
from models.scope.keys import QuestionKeys
from models.scope.network import Scope
from models.scope.pairs import Pairs, find_pairs

CACHE_SIZE = 8_192  # questions; 3 kB each


@dataclass
class CachedQuestion:
    """n_rows: how many rows of the table of this generation it was compared with. gates: (log-odds, row) of those
    that open."""

    keys: QuestionKeys
    generation: int = 0
    n_rows: int = 0
    gates: list[tuple[float, int]] = field(default_factory=list)


class QuestionCache:
    """Least recently used first. Thread-safe.

    Args:
        read: questions -> their keys, in order.
        size: questions that are kept.
    """

    def __init__(
        self, scope: Scope, read: Callable[[Sequence[str]], QuestionKeys], size: int = CACHE_SIZE
    ) -> None:
        self._scope, self._read = scope, read
        self._cache: LRUCache[str, CachedQuestion] = LRUCache(size)
        self._lock = threading.Lock()

    def match(self, questions: Sequence[str], *views: Gates) -> list[list[GateMatch | None]]:
        """Which edit answers each of the questions, in each of the views."""
        if not questions:
            return [[] for _ in views]
        with self._lock:
            entries = {question: self._cache[question] for question in questions if question in self._cache}
            missing = [question for question in dict.fromkeys(questions) if question not in entries]
            if missing:
                keys = self._read(missing)
                fresh = {question: CachedQuestion(keys.copy_row(row)) for row, question in enumerate(missing)}
                entries |= fresh
                self._cache.update(fresh)
            ordered_entries = [entries[question] for question in questions]
            return [self._match(ordered_entries, view) for view in views]

    def _match(self, entries: Sequence[CachedQuestion], view: Gates) -> list[GateMatch | None]:
        """Compare questions with the rows that are new to them; another generation is another table."""
        stale: dict[int, list[CachedQuestion]] = defaultdict(list)
        for entry in {id(entry): entry for entry in entries}.values():
            if entry.generation != view.generation:
                entry.generation, entry.n_rows, entry.gates = view.generation, 0, []
            if entry.n_rows < len(view.table):
                stale[entry.n_rows].append(entry)
        for start, group in stale.items():
            keys = QuestionKeys.concatenate([entry.keys for entry in group])
            new_pairs = find_pairs(self._scope, keys, view.table.select(slice(start, None)))
            columns = (new_pairs.question.tolist(), new_pairs.gate.tolist(), new_pairs.logit.tolist())
            for place, row, logit in zip(*columns, strict=True):
                group[place].gates.append((logit, row + start))
            for entry in group:
                entry.n_rows = len(view.table)
        flat = [(place, row, logit) for place, entry in enumerate(entries) for logit, row in entry.gates]
        places, rows, logits = zip(*flat, strict=True) if flat else ((), (), ())
        pairs = Pairs(torch.tensor(places).long(), torch.tensor(rows).long(), torch.tensor(logits).float())
        return match_pairs(pairs.select(pairs.gate < len(view.table)), [view] * len(entries))
