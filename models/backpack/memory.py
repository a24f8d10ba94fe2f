"""`backpack/senses`: the sense vectors of a Backpack as an editable memory.

Hewitt et al., arXiv:2305.16765. A fact adds rows to the senses of the tokens of its question and its answer, and acts
where the scope routes a question to it (editing/fact.py). A change of the senses of a word acts on all texts
(editing/sense.py). The network's weights are never written.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from more_itertools import map_reduce

from models.backpack.editing.fact import FACT, build_fact
from models.backpack.editing.overlay import SENSE, SenseOperation, SenseOverlay, compose
from models.backpack.editing.sense import SenseChange, build_sense
from models.backpack.reader import Reader
from models.blocks import Image
from models.kit.material import UnionMemory
from models.memory import AnswerChange, ChangeKind, Fields, FieldsChange, Material, Usage
from models.scope.active import ActiveEdits
from models.scope.wordings.table import WordingTable

SENSES = "backpack/senses"


@dataclass(frozen=True, eq=False)
class SensesView:
    """One version of the memory."""

    active_edits: ActiveEdits  # facts, found by the scope
    overlay: SenseOverlay | None  # changed senses of words
    edits_by_token: Mapping[int, tuple[str, ...]]  # token -> the edits that changed its senses
    senses_by_edit: Mapping[str, tuple[int, ...]]  # edit -> numbers of the senses that it changed
    changes: tuple[str, ...]  # digests of all changes of senses, in their order; equal where the overlays are


class SensesMemory(UnionMemory):
    """The senses of a checkpoint."""

    name = SENSES
    accepts: frozenset[ChangeKind] = frozenset({"answer", SENSE})
    fields: Mapping[ChangeKind, type[Fields]] = {SENSE: SenseChange}

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._wordings = WordingTable(reader.scope.judge, reader.model.embedding.device)

    @cached_property
    def base(self) -> Image:
        """Return the memory with no edits."""
        return Image(self._reader.digest)

    @torch.inference_mode()
    def make(self, change: AnswerChange | FieldsChange) -> Material:
        """Build a change from the base alone. EditRefused: it cannot work."""
        if isinstance(change, FieldsChange):
            return build_sense(self._reader.model, self._reader.speller, change)
        return build_fact(self._reader, change)

    @torch.inference_mode()
    def view(self, image: Image) -> SensesView:
        """Compile an image for reading."""
        blocks = image.ordered_blocks
        changes = [block for block in blocks if block.kind == SENSE]
        operations = {block.edit: SenseOperation.of(block) for block in changes}
        edits_by_token = map_reduce(operations, lambda edit: operations[edit].word)
        return SensesView(
            self._wordings.view([block for block in blocks if block.kind == FACT]),
            compose(self._reader.model, changes),
            {token: tuple(edits) for token, edits in edits_by_token.items()},
            {edit: operation.senses for edit, operation in operations.items()},
            tuple(block.digest for block in changes),
        )

    def usage(self, image: Image) -> Usage:
        """Return how many rows of senses the active edits have."""
        facts = [block for block in image.blocks.values() if block.kind == FACT]
        n_changes = len(image.blocks) - len(facts)
        warnings = []
        if n_changes:
            word = "change of senses acts" if n_changes == 1 else "changes of senses act"
            warnings.append(f"{n_changes:,} {word} on each text with the word, whatever is asked")
        n_rows = sum(block.rows["tokens"] for block in facts) + n_changes
        return Usage(n_rows, None, warnings=tuple(warnings))
