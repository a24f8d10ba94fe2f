"""The edits of one version by their wordings, and which of them answers where several are about one fact.

Notation: a row is a wording in the table that all versions of a process share; an edit owns a row when one of its
wordings is that row. An edit that replaces an earlier one is its heir: it answers in the earlier one's words too.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

import torch
from jaxtyping import Bool, Int
from more_itertools import map_reduce
from torch import Tensor

from models.blocks import Block
from models.scope.readings import StoredReadings, Tokens
from models.scope.spelling import Lexicon
from models.scope.wordings.block import read_texts
from models.scope.wordings.columns import Wordings
from models.scope.wordings.row_index import RowIndex
from models.system import NearbyEdit
from models.versioned_blocks import Prefix

NO_EDIT = -1
REPAIRS = 1_024  # questions of a view whose repair is cached


@dataclass(frozen=True, eq=False)
class ActiveEdits:
    """The active edits of one version. Immutable.

    table: every row, as it stood. all_wordings: counterexamples too. successors: for each edit the place of the latest
    one that replaces it, itself as a rule. has_heirs: whether any edit is replaced. lexicon, rows_by_wording: words of
    all rows, later ones too, and rows by their wording's digest. Views of one generation have their rows in the same
    places.
    """

    generation: int
    table: StoredReadings
    all_wordings: Wordings
    successors: Int[Tensor, " edit"]
    has_heirs: bool
    edits: Prefix[Block]
    lexicon: Lexicon
    rows_by_wording: RowIndex

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
        against = self.all_wordings.select(self.all_wordings.is_against)
        pairs = zip(against.rows.tolist(), against.edits.tolist(), strict=True)
        return map_reduce(pairs, itemgetter(0), itemgetter(1))

    @cached_property
    def edits_against(self) -> Mapping[int, Set[int]]:
        """Digest of a counterexample -> the edits that have it."""
        edits: dict[int, set[int]] = defaultdict(set)
        for row, of_row in self.against.items():
            edits[int(self.table.wordings[row])].update(of_row)
        return edits

    @cached_property
    def last_successors(self) -> Int[Tensor, " edit"]:
        """For each edit the place of the one that answers for it: the last of those that replace one another."""
        last_successors = self.successors
        while self.has_heirs and not torch.equal(
            further := last_successors[last_successors], last_successors
        ):
            last_successors = further
        return last_successors

    @cached_property
    def is_read(self) -> Bool[Tensor, " row"]:
        """Rows that a question is compared with: wordings and counterexamples."""
        if self.wordings is self.all_wordings:
            return self.is_owned
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
    def answering_edit(self) -> Int[Tensor, " row"]:
        """Which edit answers a question that asks for the fact of this row, or NO_EDIT."""
        if not self.has_heirs:
            return self.owner
        return torch.where(self.is_owned, self.last_successors[self.owner], NO_EDIT)

    @cached_property
    def question_rows(self) -> Bool[Tensor, " row"]:
        """Rows that are the question an edit was made with."""
        is_question = torch.zeros(len(self.table), dtype=torch.bool)
        is_question[self.wordings.rows[self.wordings.is_question]] = True
        return is_question

    def find_exact(self, wording: int) -> int | None:
        """Return the row of the latest edit that was given this wording, by its digest."""
        latest = max(self.rows_with(wording), key=lambda row: int(self.owner[row]), default=None)
        return None if latest is None or not self.is_owned[latest] else latest

    def rows_with(self, wording: int) -> list[int]:
        """Return the rows of a wording, by its digest."""
        return [row for row in self.rows_by_wording.rows_of(wording) if row < len(self.table)]

    @property
    def block_ids(self) -> Int[Tensor, " row"]:
        """For each row the address of the block that answers there: two views that live agree where it is one block."""
        addresses = torch.tensor([id(edit) for edit in self.edits] or [NO_EDIT])
        return torch.where(self.is_owned, addresses[self.answering_edit], NO_EDIT)

    def changed_rows(self, before: "ActiveEdits") -> Bool[Tensor, " row"]:
        """Return which rows one view alone reads, or another edit answers there; both views of one generation."""
        n_rows = max(len(self.table), len(before.table))
        is_shared = self.edits.shares_list(before.edits)
        sides = torch.full((2, n_rows), NO_EDIT)
        is_read = torch.zeros(2, n_rows, dtype=torch.bool)
        for side, read, view in zip(sides, is_read, (before, self), strict=True):
            side[: len(view.owner)] = view.answering_edit if is_shared else view.block_ids
            read[: len(view.owner)] = view.is_read
        return (sides[0] != sides[1]) | (is_read[0] != is_read[1])

    def repair(self, question: Tokens) -> str | None:
        """Return a question with its misspelt words put right (`Lexicon.repair`), the same one again from a cache."""
        if question in self._repairs:
            return self._repairs[question]
        repaired_question = self.lexicon.repair(question, self.is_read)
        self.keep_repair(question, repaired_question)
        return repaired_question

    def keep_repair(self, question: Tokens, repaired_question: str | None) -> None:
        """Cache the repair of a question, such as that of an earlier version."""
        if len(self._repairs) < REPAIRS:
            self._repairs[question] = repaired_question

    @cached_property
    def _repairs(self) -> dict[Tokens, str | None]:
        return {}

    def questions_at(self, row: int) -> list[int]:
        """Return the edits whose question is this row."""
        is_theirs = (self.wordings.rows == row) & self.wordings.is_question
        return self.wordings.edits[is_theirs].tolist()

    def find_misrouted(self) -> dict[int, list[int]]:
        """Return, for each edit that does not answer all its wordings, which edit answers each of them."""
        if not len(self.wordings.rows):
            return {}
        digests = self.table.wordings.cpu()[self.wordings.rows]
        group: Tensor = torch.unique(digests, return_inverse=True)[1]
        last = torch.zeros(int(group.max()) + 1, dtype=torch.long)
        last.scatter_reduce_(
            0, group, torch.arange(len(group)), "amax"
        )  # the latest edit with the same words
        answering = self.answering_edit[self.wordings.rows[last[group]]]
        odd = sorted(set(self.wordings.edits[answering != self.wordings.edits].tolist()))
        return {edit: answering[self.wordings.of_edit(edit)].tolist() for edit in odd}


@dataclass(frozen=True)
class Match:
    """A question asks for the fact of a wording, the one at a row of a view, with a probability."""

    view: ActiveEdits
    row: int
    probability: float

    @property
    def block(self) -> Block:
        """Return the block of the edit that answers."""
        return self.view.edits[int(self.view.answering_edit[self.row])]

    @property
    def edit(self) -> str:
        """Return the id of the edit that answers."""
        return self.block.edit

    @property
    def owner(self) -> str:
        """Return the id of the latest edit that was given the wording."""
        return self.view.edits[int(self.view.owner[self.row])].edit

    @property
    def wording(self) -> str:
        """Return the text of the wording that matched."""
        owner = int(self.view.owner[self.row])
        wordings = self.view.all_wordings
        rows = wordings.rows[wordings.of_edit(owner)].tolist()
        return read_texts(self.view.edits[owner].tensors["wordings"])[rows.index(self.row)]

    @property
    def nearby_edit(self) -> NearbyEdit:
        """Return the match as a reply names it."""
        return NearbyEdit(self.edit, self.wording, self.probability)
