"""The active gates of one version, and which edit answers a question there.

Notation: a row is a wording in the slot table; an edit owns a row when one of its wordings is that row. A gate opens
for a question when the scope gives the pair log-odds above zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from models.memory import Block
from models.scope.keys import QuestionKeys
from models.scope.network import Scope
from models.scope.pairs import PairCache, Pairs, best_gates, find_pairs

NO_EDIT = -1


@dataclass(frozen=True, eq=False)
class Wordings:
    """The wordings of all edits in ledger order, each edit's question before its paraphrases.

    edits: the place of the edit that each belongs to. rows: its row in the table.
    """

    edits: Int[Tensor, " wording"]
    rows: Int[Tensor, " wording"]

    @staticmethod
    def empty() -> "Wordings":
        return Wordings(torch.empty(0, dtype=torch.long), torch.empty(0, dtype=torch.long))

    def truncate(self, n_edits: int) -> "Wordings":
        """Those of the first edits."""
        end = int(torch.searchsorted(self.edits, n_edits))
        return Wordings(self.edits[:end], self.rows[:end])

    def append(self, rows_by_edit: Sequence[tuple[int, ...]], first: int) -> "Wordings":
        """With the rows of further edits, of which the first is at place `first`."""
        edits = [first + edit for edit, rows in enumerate(rows_by_edit) for _ in rows]
        rows = [row for rows in rows_by_edit for row in rows]
        return Wordings(
            torch.cat([self.edits, torch.tensor(edits, dtype=torch.long)]),
            torch.cat([self.rows, torch.tensor(rows, dtype=torch.long)]),
        )

    def rows_of(self, edit: int) -> Int[Tensor, " wording"]:
        return self.rows[self.edits == edit]

    @cached_property
    def questions(self) -> Int[Tensor, " edit"]:
        """The row of each edit's question."""
        is_first = torch.ones(len(self.edits), dtype=torch.bool)
        is_first[1:] = self.edits[1:] != self.edits[:-1]
        return self.rows[is_first]

    def owners(self, n_rows: int) -> Int[Tensor, " row"]:
        """The latest edit that has each row, or NO_EDIT."""
        return torch.full((n_rows,), NO_EDIT).scatter_reduce_(0, self.rows, self.edits, "amax")


@dataclass(frozen=True, eq=False)
class Gates:
    """The active gates of one version. Immutable.

    table: every row, as it stood. owner: for each row the place in `edits`, which are in ledger order, of the latest
    edit that has it, or NO_EDIT. Views of one generation have their rows in the same places.
    """

    generation: int
    table: QuestionKeys
    pair_cache: PairCache
    owner: Int[Tensor, " row"]
    wordings: Wordings
    edits: tuple[Block, ...]

    @cached_property
    def pairs(self) -> Pairs:
        """Pairs of rows that are about one fact; the first to ask waits for new rows to be compared."""
        return self.pair_cache.pairs(self.table)

    @cached_property
    def is_owned(self) -> Bool[Tensor, " row"]:
        return self.owner != NO_EDIT

    @cached_property
    def speaker(self) -> Int[Tensor, " row"]:
        """Which edit answers when this row's gate is the best: the latest one about the gate's fact.

        That is one with a gate that opens for this row, or for the question that the row's owner was made with. So a
        correction of a correction is heard in every wording that the first one was.
        """
        about = self.owner.clone().scatter_reduce_(
            0, self.pairs.question, self.owner[self.pairs.gate], "amax"
        )
        origin = self.owner
        if self.edits:
            origin = torch.where(self.is_owned, self.wordings.questions[self.owner], 0)
        return torch.maximum(about, about[origin]).masked_fill_(~self.is_owned, NO_EDIT)

    @cached_property
    def answering(self) -> Int[Tensor, " row"]:
        """Which edit answers the question that each row is a wording of, or NO_EDIT."""
        _, gate = best_gates(self.pairs.select(self.is_owned[self.pairs.gate]), len(self.table))
        return self.speaker[gate].masked_fill_(gate == -1, NO_EDIT)

    @cached_property
    def block_ids(self) -> Int[Tensor, " row"]:
        """For each row the address of the block that answers there: two views that live agree where it is one block."""
        addresses = torch.tensor([id(edit) for edit in self.edits] or [NO_EDIT])
        return torch.where(self.is_owned, addresses[self.speaker], NO_EDIT)

    def changed_since(self, before: "Gates") -> QuestionKeys:
        """The gates that are in one view and not in the other, or say something else there. Of one generation."""
        longer = self if len(self.table) >= len(before.table) else before
        sides = torch.full((2, len(longer.table)), NO_EDIT)
        for side, view in zip(sides, (before, self), strict=True):
            side[: len(view.block_ids)] = view.block_ids
        return longer.table.select((sides[0] != sides[1]).nonzero().squeeze(1).to(longer.table.keys.device))

    def find_misrouted(self) -> dict[int, list[int]]:
        """For each edit that does not answer all of its own wordings: who answers each of them, or NO_EDIT."""
        edits, rows = self.wordings.edits, self.wordings.rows
        misrouted_edits = sorted(set(edits[self.answering[rows] != edits].tolist()))
        return {edit: self.answering[self.wordings.rows_of(edit)].tolist() for edit in misrouted_edits}


@dataclass(frozen=True)
class GateMatch:
    """The edit that answers a question, and how sure the gate is that it asks for the edit's fact (log-odds)."""

    block: Block
    logit: float

    @property
    def edit(self) -> str:
        return self.block.key.removeprefix("edit/")


def match_gates(scope: Scope, questions: QuestionKeys, gates: Sequence[Gates]) -> list[GateMatch | None]:
    """For each question, the latest edit about the fact that the best gate of its version is for, if one opens.

    One product with the largest table of a generation serves every version in the batch.

    Args:
        gates: what each question reads.
    """
    matches: list[GateMatch | None] = [None] * len(questions)
    for generation in {view.generation for view in gates}:
        places = [place for place, view in enumerate(gates) if view.generation == generation]
        views = [gates[place] for place in places]
        table = max((view.table for view in views), key=len)
        chunk = questions.select(torch.tensor(places, device=questions.keys.device))
        for place, match in zip(places, match_pairs(find_pairs(scope, chunk, table), views), strict=True):
            matches[place] = match
    return matches


def match_pairs(pairs: Pairs, gates: Sequence[Gates]) -> list[GateMatch | None]:
    """The same from the pairs of questions and rows: of the gates that open, the best that is owned at the version.

    Args:
        gates: what each question reads, all of one generation.
    """
    if not len(pairs):
        return [None] * len(gates)
    views = {view: place for place, view in enumerate(dict.fromkeys(gates))}
    is_owned = torch.zeros(len(views), max(len(view.table) for view in views), dtype=torch.bool)
    for view, place in views.items():
        is_owned[place, : len(view.is_owned)] = view.is_owned
    place_of = torch.tensor([views[view] for view in gates])
    open_pairs = pairs.select(is_owned[place_of[pairs.question], pairs.gate])
    logits, rows = best_gates(open_pairs, len(gates))
    return [
        None if row == -1 else GateMatch(view.edits[int(view.speaker[row])], logit)
        for view, row, logit in zip(gates, rows.tolist(), logits.tolist(), strict=True)
    ]
