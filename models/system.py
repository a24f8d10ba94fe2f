"""The contract every answering system and every editor keeps, so that the service need not know them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from models.graph.knowledge import Mention
from models.memory import Block, Image


@dataclass(frozen=True)
class Ask:
    """One question, after the wire's checks. `top_k` > 1 asks for alternatives, `explain` for a trace.

    context, candidates: what to choose the answer from, for systems that read them (`System.reads`).
    mentions: what the graph at the asked version says of the words of the question, for systems that read the graph;
    empty without the graph, too. linked: False where the caller wanted an answer without the graph.
    """

    question: str
    top_k: int = 1
    explain: bool = False
    context: str | None = None
    candidates: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    linked: bool = True


@dataclass(frozen=True)
class Alternative:
    answer: str
    score: float


@dataclass(frozen=True)
class Reply:
    """What a system says to one question.

    answer: None when the system declines; `reason` then says why (`unsure`, `no_entity`, `no_fact`,
        `no_graph`).
    score: calibrated probability that the answer is right, in [0, 1].
    edits: ids of the edits whose rows this answer rests on.
    facts: what the answer rests on in the graph, as JSON values: `entity`, `subject`, `relation`, `object`, `edit`.
    best: what would have been said without declining; "" when there is nothing to say.
    """

    answer: str | None
    score: float
    best: str
    reason: str | None = None
    edits: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    truncated: bool = False
    explanation: Mapping[str, Any] | None = None
    facts: tuple[Mapping[str, Any], ...] = ()


View = Any
"""A memory at one version, compiled for reading by its own system, opaque to all others. Immutable: a batch that
holds one is never torn."""


@dataclass(frozen=True)
class Correction:
    """An edit as the editor takes it: this question, in these other wordings too, has this answer."""

    id: str
    question: str
    answer: str
    paraphrases: tuple[str, ...] = ()


class EditRefused(ValueError):
    """An edit that cannot work, with a stable code (`no_active_slot`, `unreachable`, ...) and what to do."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


@dataclass(frozen=True)
class Material:
    """What one edit contributes to the fold. Made once, from the base alone, and never changed afterwards.

    order: the edit's place in the ledger, assigned by the writer before the fold.
    notes: what the report says of the rows (slots touched, margin, lambda, warnings).
    """

    edit: str
    method: str
    block: Block
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Capacity:
    """slots_used: by all active edits. slots_reserved: how many there are; None where edits bring their own.

    rows_per_slot: how crowded a memory is whose edits share slots. margin: points that the locality expected at so many
    edits lies above what is acceptable. warnings: whole sentences.
    """

    slots_used: int
    slots_reserved: int | None
    rows_per_slot: float | None = None
    margin: float | None = None
    warnings: tuple[str, ...] = ()


class System(Protocol):
    """One answering system with its memory. Thread-safe: views are immutable and the weights never change."""

    name: str
    memory: str
    methods: tuple[str, ...]
    reads: frozenset[str]
    """What it takes beside the question: `graph`, `context`, `candidates`."""

    @property
    def base(self) -> Image:
        """The memory with no edits."""

    def view(self, image: Image) -> View:
        """Compile an image for reading. Blocks already seen cost nothing."""

    def answer(self, asks: Sequence[Ask], views: Sequence[View]) -> list[Reply]:
        """One forward pass for the whole batch; `views[i]` is what `asks[i]` reads. Bit-equal views may repeat."""

    def unmoved(self, before: tuple[Sequence[Ask], View], after: tuple[Sequence[Ask], View]) -> list[bool]:
        """True where both sides certainly give the same answer, resting on the same edits. False is never wrong.

        The questions are the same on both sides; what the graph says of them need not be.
        Much cheaper than asking: what an edit does to hundreds of bystanders is measured on every commit.
        """

    def touched(self, before: View, after: View) -> Sequence[str] | None:
        """Of the many questions that the system was taught, all that may be answered otherwise, the likeliest first.

        None where that cannot be told without asking them.
        """

    def speakers(self, view: View) -> Mapping[str, Sequence[str | None]] | None:
        """Of the active edits that do not answer all their own wordings, which edit answers each of these.

        The question first, then the paraphrases; None where the base answers. () for an edit of which only asking
        tells; None instead of the mapping where that is so of every edit. Exact, and without asking: an edit that
        answers gives its own answer. Cheap when a view close to this one was looked at before.
        """

    def speaking(self, asks: Sequence[Ask], view: View) -> list[str | None]:
        """The edit that answers each question, as `speakers` has it; None where only asking tells."""

    def edit(self, corrections: Sequence[Correction], method: str) -> list[Material]:
        """Turn corrections into rows, from the base alone (so that undo is exact). EditRefused if one cannot work."""

    def fold(self, materials: Sequence[Material]) -> Image:
        """The image that the active materials give, in ledger order. A pure function."""

    def capacity(self, image: Image) -> Capacity: ...

    def describe(self) -> Mapping[str, Any]:
        """For GET /v1/models: sizes, checkpoint, engine, methods. JSON values only."""
