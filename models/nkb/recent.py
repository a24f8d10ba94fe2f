"""Questions asked lately, and what they are alike to: the probes of one edit are those of the next.

Reading a question costs most, comparing it with ten thousand gates next. Both are done once, and a table that has
grown by a row is compared in that row.
"""

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from models.nkb.alike import Keyed, Pairs, alike
from models.nkb.opened import Opened, chosen
from models.nkb.remembered import RecentReads
from models.nkb.slots import Gates

KEPT = 8_192  # questions; 3 kB each


@dataclass
class Recent:
    """One question. compared: with how many rows of the table of this generation. alike: those found so far."""

    keyed: Keyed
    generation: int = 0
    compared: int = 0
    alike: list[tuple[float, int]] = field(default_factory=list)


class RecentQuestions:
    """The one asked longest ago leaves first. Safe to use from several threads."""

    def __init__(self, reads: RecentReads) -> None:
        self._reads = reads
        self._known: OrderedDict[str, Recent] = OrderedDict()
        self._lock = threading.Lock()

    def chosen(self, questions: Sequence[str], *views: Gates) -> list[list[Opened | None]]:
        """What each of them opens in each of the views."""
        if not questions:
            return [[] for _ in views]
        with self._lock:
            recent = self._of(questions)
            return [self._chosen(recent, view) for view in views]

    def _chosen(self, recent: Sequence[Recent], view: Gates) -> list[Opened | None]:
        self._compare(recent, view)
        places = [place for place, one in enumerate(recent) for _ in one.alike]
        rows = [row for one in recent for _, row in one.alike]
        logits = [logit for one in recent for logit, _ in one.alike]
        pairs = Pairs(torch.tensor(places).long(), torch.tensor(rows).long(), torch.tensor(logits).float())
        return chosen(pairs.select(pairs.found < len(view.table)), [view] * len(recent))

    def _compare(self, recent: Sequence[Recent], view: Gates) -> None:
        """With the rows that came since they were last looked at; another generation is another table."""
        behind: dict[int, list[Recent]] = defaultdict(list)
        for one in {id(one): one for one in recent}.values():
            if one.generation != view.generation:
                one.generation, one.compared, one.alike = view.generation, 0, []
            if one.compared < len(view.table):
                behind[one.compared].append(one)
        for start, some in behind.items():
            keyed = Keyed.joined([one.keyed for one in some])
            pairs = alike(self._reads.reader.scope, keyed, view.table.select(slice(start, None)))
            found = zip(pairs.asked.tolist(), pairs.found.tolist(), pairs.logit.tolist(), strict=True)
            for place, row, logit in found:
                some[place].alike.append((logit, row + start))
            for one in some:
                one.compared = len(view.table)

    def _of(self, questions: Sequence[str]) -> list[Recent]:
        found = {question: self._known[question] for question in questions if question in self._known}
        missing = [question for question in dict.fromkeys(questions) if question not in found]
        if missing:
            read = self._reads.of(missing).keyed
            found |= {question: Recent(read.row(place)) for place, question in enumerate(missing)}
        for question, one in found.items():
            self._known[question] = one
            self._known.move_to_end(question)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return [found[question] for question in questions]
