"""The edits of one version by their wordings, and which of them answers where several are about one fact.

Notation: a row is a wording in the table that all versions of a process share; an edit owns a row when one of its
wordings is that row. An edit that replaces an earlier one is its heir: it answers in the earlier one's words too.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from models.memory import Block
from models.scope.readings import Readings, StoredReadings
from models.scope.spelling import Lexicon

NO_EDIT = -1


@dataclass(frozen=True, eq=False)
class Wordings:
    """The wordings of all edits in ledger order, each edit's question before its paraphrases.

    edits: the place of the edit that each belongs to. rows: its row in the table. is_against: whether it is a
    counterexample, which its edit is not about.
    """

    edits: Int[Tensor, " wording"]
    rows: Int[Tensor, " wording"]
    is_against: Bool[Tensor, " wording"]

    @staticmethod
    def empty() -> "Wordings":
        """Return a table without any wording."""
        empty_row = torch.empty(0, dtype=torch.long)
        return Wordings(empty_row, empty_row, empty_row.bool())

    def select(self, wordings: Tensor) -> "Wordings":
        """Return some of the wordings."""
        return Wordings(self.edits[wordings], self.rows[wordings], self.is_against[wordings])

    def truncate(self, n_edits: int) -> "Wordings":
        """Return the wordings of the first edits."""
        end = int(torch.searchsorted(self.edits, n_edits))
        return self.select(torch.arange(end))

    def append(
        self, rows_by_edit: Sequence[tuple[int, ...]], n_against: Sequence[int], first: int
    ) -> "Wordings":
        """Return the wordings with the rows of further edits, the first of them at place `first`.

        n_against: how many of the rows of each, the last ones, are counterexamples.
        """
        edits = [first + edit for edit, rows in enumerate(rows_by_edit) for _ in rows]
        rows = [row for rows in rows_by_edit for row in rows]
        is_against = [
            place >= len(rows) - n
            for rows, n in zip(rows_by_edit, n_against, strict=True)
            for place in range(len(rows))
        ]
        return Wordings(
            torch.cat([self.edits, torch.tensor(edits, dtype=torch.long)]),
            torch.cat([self.rows, torch.tensor(rows, dtype=torch.long)]),
            torch.cat([self.is_against, torch.tensor(is_against, dtype=torch.bool)]),
        )

    @cached_property
    def is_question(self) -> Bool[Tensor, " wording"]:
        """Whether each is the question that its edit was made with."""
        is_first = torch.ones(len(self.edits), dtype=torch.bool)
        is_first[1:] = self.edits[1:] != self.edits[:-1]
        return is_first


@dataclass(frozen=True, eq=False)
class ActiveEdits:
    """The active edits of one version. Immutable.

    table: every row, as it stood. all_wordings: counterexamples too. heirs: for each edit the place of the one that
    answers for it, itself as a rule. lexicon, rows_by_wording: words of all rows, later ones too, and rows by their
    wording's digest. Views of one generation have their rows in the same places.
    """

    generation: int
    table: StoredReadings
    all_wordings: Wordings
    heirs: Int[Tensor, " edit"]
    edits: tuple[Block, ...]
    lexicon: Lexicon
    rows_by_wording: Mapping[int, Sequence[int]]

    def __bool__(self) -> bool:
        return bool(self.edits)

    @cached_property
    def wordings(self) -> Wordings:
        """Return the wordings that the edits are about, without counterexamples."""
        is_against = self.all_wordings.is_against
        return self.all_wordings.select(~is_against) if is_against.any() else self.all_wordings

    @cached_property
    def against(self) -> Mapping[int, Sequence[int]]:
        """Row -> the edits that have it as a counterexample."""
        edits: dict[int, list[int]] = defaultdict(list)
        against = self.all_wordings.select(self.all_wordings.is_against)
        for row, edit in zip(against.rows.tolist(), against.edits.tolist(), strict=True):
            edits[row].append(edit)
        return edits

    @cached_property
    def edits_against(self) -> Mapping[int, Set[int]]:
        """Digest of a counterexample -> the edits that have it."""
        return {int(self.table.wordings[row]): frozenset(edits) for row, edits in self.against.items()}

    @cached_property
    def is_read(self) -> Bool[Tensor, " row"]:
        """Rows that a question is compared with: wordings and counterexamples."""
        is_read = torch.zeros(len(self.table), dtype=torch.bool)
        is_read[self.all_wordings.rows] = True
        return is_read

    @cached_property
    def owner(self) -> Int[Tensor, " row"]:
        """The latest edit that has each row, or NO_EDIT."""
        owners = torch.full((len(self.table),), NO_EDIT)
        return owners.scatter_reduce_(0, self.wordings.rows, self.wordings.edits, "amax")

    @cached_property
    def is_owned(self) -> Bool[Tensor, " row"]:
        """Return whether an active edit has each row."""
        return self.owner != NO_EDIT

    @cached_property
    def speaker(self) -> Int[Tensor, " row"]:
        """Which edit answers a question that asks for the fact of this row, or NO_EDIT."""
        if not self.edits:
            return self.owner
        return torch.where(self.is_owned, self.heirs[self.owner], NO_EDIT)

    @cached_property
    def question_rows(self) -> Bool[Tensor, " row"]:
        """Rows that are the question an edit was made with."""
        is_question = torch.zeros(len(self.table), dtype=torch.bool)
        is_question[self.wordings.rows[self.wordings.is_question]] = True
        return is_question

    def find_exact(self, wording: int) -> int | None:
        """Return the row of the latest edit that was given this wording, by its digest."""
        rows = [row for row in self.rows_by_wording.get(wording, ()) if row < len(self.table)]
        latest = max(rows, key=lambda row: int(self.owner[row]), default=None)
        return None if latest is None or not self.is_owned[latest] else latest

    @cached_property
    def block_ids(self) -> Int[Tensor, " row"]:
        """For each row the address of the block that answers there: two views that live agree where it is one block."""
        addresses = torch.tensor([id(edit) for edit in self.edits] or [NO_EDIT])
        return torch.where(self.is_owned, addresses[self.speaker], NO_EDIT)

    def changed_since(self, before: "ActiveEdits") -> Readings:
        """Return the wordings that one view alone has, or that another edit answers there; both of one generation."""
        longer = self if len(self.table) >= len(before.table) else before
        sides = torch.full((2, len(longer.table)), NO_EDIT)
        for side, view in zip(sides, (before, self), strict=True):
            side[: len(view.block_ids)] = view.block_ids
        return longer.table.select((sides[0] != sides[1]).nonzero().squeeze(1).tolist())

    def questions_at(self, row: int) -> list[int]:
        """Return the edits whose question is this row."""
        is_theirs = (self.wordings.rows == row) & self.wordings.is_question
        return self.wordings.edits[is_theirs].tolist()

    def find_misrouted(self) -> dict[int, list[int]]:
        """Return, for each edit that does not answer all of its own wordings, which edit answers each of them."""
        if not len(self.wordings.rows):
            return {}
        digests = self.table.wordings.cpu()[self.wordings.rows]
        group: Tensor = torch.unique(digests, return_inverse=True)[1]
        last = torch.zeros(int(group.max()) + 1, dtype=torch.long)
        last.scatter_reduce_(
            0, group, torch.arange(len(group)), "amax"
        )  # the latest edit with the same words
        answering = self.speaker[self.wordings.rows[last[group]]]
        odd = sorted(set(self.wordings.edits[answering != self.wordings.edits].tolist()))
        return {edit: answering[self.wordings.edits == edit].tolist() for edit in odd}
