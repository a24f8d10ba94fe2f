"""Notes of the ledger about edits other than corrected answers, by the kind of the edit.

In the ledger and on the wire a note is the part `notes` of an edit, as JSON values, beside what the memory notes
about its rows. Only this file knows their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeAlias

from service.ledger.commit import EditRecord

ONLY_THE_GRAPH = "graph"  # value of `only`: no answer is expected to change


@dataclass(frozen=True)
class FactNote:
    """A fact, in words; `object_id` is the entity that its object was taken for, "" for a text, None for a name."""

    subject: str
    relation: str
    object: str
    act: str
    before: str = ""
    after: str = ""
    warnings: Sequence[str] = ()
    only: str | None = None
    object_id: str | None = None
    qualifiers: Mapping[str, str] | None = None  # begin, end, time, unit, rank and source, those that it has

    def to_fact(self) -> tuple[str, str, str, str]:
        """Return subject, relation, object and act, as a diff lists them."""
        return self.subject, self.relation, self.object, self.act


@dataclass(frozen=True)
class RelationNote:
    """A definition of a relation: how many values it holds, or how it is called."""

    define: str
    holds: str | None = None
    label: str | None = None

    def to_fact(self) -> tuple[str, str, str, str]:
        """Return the relation as a diff lists it."""
        return self.define, "holds", self.holds or "", "set"


@dataclass(frozen=True)
class ChangeNote:
    """A change that only its memory knows: its fields in outline, and the same in words."""

    change: Mapping[str, Any]
    summary: str
    warnings: Sequence[str] | None = None


@dataclass(frozen=True)
class ImportNote:
    """The counts of an import, as the wire's ImportCounts has them."""

    format: str
    lines: int
    triples: int
    entities: int
    new_entities: int
    rejected: int
    rejected_by: Mapping[str, int]
    skipped: Mapping[str, int]
    rejected_lines: Sequence[Mapping[str, Any]]
    seconds: float
    source: str
    warnings: Sequence[str] = ()
    n_replaced: int = 0
    n_by_hand: int = 0
    rows: Sequence[Mapping[str, Any]] = ()

    def to_fact(self) -> tuple[str, str, str, str]:
        """Return source and number of triples, as a diff lists them."""
        return self.source, "", f"{self.triples:,} triples", "import"


Note: TypeAlias = FactNote | RelationNote | ChangeNote | ImportNote
KINDS: Mapping[str, type[Note]] = {
    "act": FactNote,
    "define": RelationNote,
    "change": ChangeNote,
    "triples": ImportNote,
}
"""Name that only notes of one kind have -> the kind."""


def dump_note(note: Note | None) -> dict[str, Any]:
    """Return a note as JSON values, without the fields that are None."""
    return {} if note is None else {name: value for name, value in asdict(note).items() if value is not None}


def read_note(edit: EditRecord) -> Note | None:
    """Return the note of an edit; None for the correction of an answer."""
    kind = next((kind for name, kind in KINDS.items() if name in edit.notes), None)
    if kind is None:
        return None
    return kind(**{f.name: edit.notes[f.name] for f in fields(kind) if f.name in edit.notes})


def is_for_graph_alone(note: Note | None) -> bool:
    return isinstance(note, FactNote) and note.only == ONLY_THE_GRAPH
