"""What a commit did, measured by asking before and after it, so that a curator can judge it."""

from __future__ import annotations

from pydantic import Field

from errata.wire.base import Details, Response, Version
from errata.wire.state import EditCounts


class ParaphraseReport(Response):
    question: str
    before: str | None
    after: str | None
    follows: bool


class NearQuestion(Response):
    """A known question that resembles an edited one. probability: that it asks for the same."""

    question: str
    probability: float


class EditReport(Response):
    """holds: the new answer comes out. notes: what the editor says of its rows (slots, margin, ...).

    id: "" where nothing had to be written. place: of the edit in the request; None for a revert or rollback.
    counterexamples: what the edit is not about; one that follows is answered by it all the same.
    near_questions: known ones that the edit is not sure enough to answer, the likeliest first.
    memory, model: where it was written and who was asked. question: "" where the graph alone changed and no
    question is known that asks for it; notes then has `subject`, `relation`, `object` and `act`.
    """

    id: str
    question: str
    answer: str
    method: str
    before: str | None
    after: str | None
    holds: bool
    paraphrases: list[ParaphraseReport] = Field(default_factory=list)
    counterexamples: list[ParaphraseReport] = Field(default_factory=list)
    notes: Details = Field(default_factory=dict)
    generated_paraphrases: list[ParaphraseReport] = Field(default_factory=list)
    near_questions: list[NearQuestion] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    memory: str = ""
    model: str = ""
    place: int | None = None


class RefusedEdit(Response):
    """An edit that was left out of its request, at `place` in it. reason: the editor's own code, of `edit_refused`.

    code: as of a problem document; `superseded` where a later edit of the same request answers anew.
    """

    place: int
    code: str
    reason: str = ""
    detail: str


class Link(Response):
    """Where one question's answer is seen at the two versions: paths of the service that a person can open.

    after: None for a dry run, which makes no version.
    """

    before: str
    after: str | None = None


class SideEffect(Response):
    """A question that no edit is about and whose answer changed all the same."""

    question: str
    before: str | None
    after: str | None
    model: str = ""
    link: Link | None = None


class BrokenTest(Response):
    """The fact test of edit `edit`, made in `version`, that no longer comes out."""

    edit: str
    version: Version
    question: str
    expected: str
    actual: str | None


class SupersededTest(BrokenTest):
    """A fact test whose question a later edit answers anew: edit `by`, made in `by_version`.

    on_purpose: the later edit was given the same question, or was told to take the place of the earlier one.
    """

    by: str
    by_version: Version
    on_purpose: bool = True


class Capacity(Response):
    """slots_used: taken by all active edits. slots_reserved: those, and the memory's own that surgery may move.

    rows_per_slot: how crowded the memory is. margin: what is left before answers get worse. warnings: whole sentences.
    """

    slots_used: int
    slots_reserved: int
    rows_per_slot: float | None = None
    margin: float | None = None
    warnings: list[str] = Field(default_factory=list)


class EditTimings(Response):
    editor_ms: float
    report_ms: float
    commit_ms: float
    replicas_ms: float


class Report(Response):
    """What a commit did, measured: probes is how many unrelated questions were compared before and after.

    unmeasured_probes: how many more questions the service knows whose answers may have changed and were not compared.
    edits_left_out: how many more edits a revert or rollback switched than `edits` lists.
    refused: edits that were left out, because `skip_refused` was asked for.
    """

    edits: list[EditReport]
    probes: int
    unmeasured_probes: int = 0
    side_effects: list[SideEffect] = Field(default_factory=list)
    broken_tests: list[BrokenTest]
    capacity: Capacity
    timings: EditTimings
    superseded_tests: list[SupersededTest] = Field(default_factory=list)
    test_status: EditCounts | None = None
    edits_left_out: int = 0
    refused: list[RefusedEdit] = Field(default_factory=list)
