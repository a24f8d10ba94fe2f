"""The contract of an editable memory: changes in, rows of each, and a view of each version.

models/blocks.py has what all memories are made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from pydantic import BaseModel, ConfigDict

from models.blocks import Block, Image

ChangeKind: TypeAlias = Literal["answer", "triple", "rows", "rule", "document", "sense"]
CHANGE_KINDS: frozenset[str] = frozenset(get_args(ChangeKind))

View: TypeAlias = Any
"""A memory at one version, compiled for reading. Immutable, and opaque to all but the systems that read the memory."""

Views: TypeAlias = Mapping[str, View]
"""Memory name -> its view, of every memory that one system reads, all at one version."""


@runtime_checkable
class Change(Protocol):
    """The request of an edit to one memory, resolved to plain values. A memory knows the kinds that it accepts."""

    @property
    def kind(self) -> ChangeKind:
        """Return the kind, one of those that the memory accepts."""

    @property
    def id(self) -> str:
        """Return the id of the edit; it names the block (`block_key`) and stays out of the rows."""


@dataclass(frozen=True)
class AnswerChange:
    """A question and its paraphrases get a new answer."""

    kind: ClassVar[ChangeKind] = "answer"

    id: str  # id of the edit
    question: str  # the question that was answered wrongly
    answer: str  # the right answer
    paraphrases: tuple[str, ...] = ()  # the question in other words
    counterexamples: tuple[str, ...] = ()  # questions that resemble it and ask for something else
    # Ids of earlier edits about the same fact; the new edit answers their wordings, too
    replaces: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()  # the question with other names of what it mentions

    @property
    def wordings(self) -> tuple[str, ...]:
        """Return all wordings that the edit answers."""
        return (self.question, *self.paraphrases, *self.other_names)


class Fields(BaseModel):
    """The fields of a change that only one memory knows; each kind has a subclass."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def summarize(self) -> str:
        """Return the change in one line of words, for logs and diffs."""
        return ", ".join(f"{name} {value}" for name, value in self.model_dump(exclude_unset=True).items())

    def subject(self) -> str:
        """Return what it is about; a change of another subject in the same request has no effect on its check."""
        return ""

    def warnings(self) -> list[str]:
        """Return what a curator should look at, in whole sentences."""
        return []

    def outline(self) -> dict[str, Any]:
        """Return the fields as reports and the log keep them, as JSON values. A memory of long texts cuts them."""
        return self.model_dump(mode="json", exclude_unset=True)


@dataclass(frozen=True)
class FieldsChange:
    """A change of a kind whose fields the memory names."""

    id: str  # id of the edit
    kind: ChangeKind  # a kind that the memory accepts
    fields: Fields  # what the curator wrote, checked
    question: str = ""  # question that shows whether the change works; "" if none is known
    answer: str = ""  # expected answer to the question


class Options(BaseModel):
    """The settings of a curator beside a change; a memory subclasses it. A memory with several methods has `method`.

    Options are frozen and refuse unknown names, so equal options are one entry of a cache.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @classmethod
    def methods(cls) -> tuple[str, ...]:
        """Return the editing methods, the default first; () for a memory with one."""
        field = cls.model_fields.get("method")
        return () if field is None else get_args(field.annotation)

    @classmethod
    def names(cls) -> frozenset[str]:
        """Return the names of the options as the wire has them."""
        return frozenset(field.alias or name for name, field in cls.model_fields.items())


class EditRefused(ValueError):
    """An edit that cannot work, with a stable code (`no_active_slot`, `unreachable`, ...) and what to do."""

    def __init__(self, code: str, detail: str) -> None:
        """Make the refusal of one change."""
        super().__init__(detail)
        self.code = code
        self.detail = detail


@dataclass(frozen=True)
class Material:
    """The contribution of one edit to the fold. It is built once, from the base alone, and never changes."""

    edit: str  # id of the edit
    method: str  # name of the method that built the rows
    block: Block  # the rows; the writer sets `order`, the edit's place in the ledger, before the fold
    # What the report says about the rows (slots, margin, lambda, warnings), as JSON values
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Usage:
    """The fill level of a memory."""

    slots_used: int  # number of slots that all active edits take
    # Number of slots that exist; None where edits bring their own, which the service then limits
    slots_reserved: int | None
    warnings: tuple[str, ...] = ()  # sentences for a curator


@runtime_checkable
class Memory(Protocol):
    """A named table of rows that systems read while they answer and that edits write.

    Its members may be called from any thread: images and views are immutable, and the base never changes.
    """

    @property
    def name(self) -> str:
        """Return the name, e.g. `nkb/bank`."""

    @property
    def accepts(self) -> frozenset[ChangeKind]:
        """Return the kinds of change that the memory takes."""

    @property
    def options(self) -> type[Options]:
        """Return the model of what a curator may set beside a change."""

    @property
    def base(self) -> Image:
        """Return the memory with no edits."""

    def build(self, changes: Sequence[Any], options: Any) -> list[Material | EditRefused]:
        """Turn changes into rows, in order, from the base alone, so that undo is exact; refuse what cannot work."""

    def fold(self, materials: Sequence[Material]) -> Image:
        """Return the image that the active materials give, in ledger order, as a pure function of them."""

    def view(self, image: Image) -> View:
        """Compile an image for reading; blocks that an earlier view has cost nothing."""

    def usage(self, image: Image) -> Usage:
        """Tell how full the memory is."""


@runtime_checkable
class Grows(Protocol):
    """Folds edits that follow on all others without folding the others again, so that a commit costs what it adds."""

    def grow(self, image: Image, materials: Sequence[Material]) -> Image | None:
        """Return what `fold` gives for the materials of an image and then these; None where only `fold` tells."""


@runtime_checkable
class TakesFields(Protocol):
    """Accepts kinds of change whose fields the memory names itself, each a `Fields` model.

    The wire, the command and the documentation take them from here, so a new kind needs no line of the service.
    """

    @property
    def fields(self) -> Mapping[ChangeKind, type[Fields]]:
        """Return the model of the fields of each such kind."""


@runtime_checkable
class ChecksFields(Protocol):
    """Refuses a change that has no effect on its version, such as the correction of a text that is missing.

    `build` sees the base alone. What depends on the other edits is checked once, on the version that the change is made
    on; the fold does not depend on it.
    """

    def check(self, fields: Any, view: View) -> EditRefused | None:
        """Return why the change cannot be made, or None.

        Args:
            fields: What the curator wrote, one of the memory's `Fields`.
            view: The memory before the change. The code `not_found` says that it lacks what the change is about.
        """
