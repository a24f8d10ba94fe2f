"""The report of a commit: its measured effect, by questions asked before and after it, for a curator to judge."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from errata.wire.base import Response
from errata.wire.state import Capacity, EditCounts
from errata.wire.texts import Details, Version

OLDER_NAMES = {"expected": "before", "actual": "after", "answer": "after", "edited_in": "version"}


class Link(Response):
    """Paths of the service that show one question's answer at the two versions; `after` is None for a dry run."""

    before: str
    after: str | None = None


OLDER_NAMES |= {"on_purpose": "follows", "asks_the_same": "follows"}
"""Names of an outcome's fields in reports that commits stored before there was one type of them."""


class Outcome(Response):
    """A question with its answers before and after a change, and the edit that makes the difference.

    Fields that say nothing are left out.
    """

    question: str = ""
    before: str | None = None
    """The answer before, or the one that a test expects; None where the model declines, as for `after`."""
    after: str | None = None
    """The answer after it; of a near question, that of the earlier edit that has it."""
    follows: bool = False
    """True if the edit answers it: of a test, if it gets the answer that it expects; of a test of another edit, if it
    was to lose that; of another answer, if the question surely asks for the same."""
    probability: float | None = None
    """Of a near question, how likely it asks for the same."""
    model: str = ""
    """The system that was asked, or that is heard."""
    edit: str = ""
    """The edit that it belongs to, or that made the difference."""
    version: Version | None = None
    """The version of that edit; None for a question of the pack."""
    by: str = ""
    """The later edit that answers in its place."""
    by_version: Version | None = None
    """The version of the edit that answers now; None where no edit does."""
    is_measured: bool = True
    """False for the oldest of very many changes, whose answers are those of the edits and not measured on the
    models; None then means that no edit answers."""
    link: Link | None = None

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, fields: Any) -> Any:
        return {OLDER_NAMES.get(k, k): v for k, v in fields.items()} if isinstance(fields, dict) else fields

    @model_serializer(mode="wrap")  # a type of its result would hide the fields from the schema
    def _leave_out_defaults(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        fields = type(self).model_fields
        return {
            name: value
            for name, value in handler(self).items()
            if name in ("before", "after", "follows") or value != fields[name].default
        }


class EditContent(Response):
    """An edit, and the memory and the model that it is made in."""

    id: str
    """"" where nothing had to be written."""
    question: str
    """"" where only the graph changed and no question is known for it; `notes` then has `subject`,
    `relation`, `object` and `act`."""
    answer: str
    method: str
    notes: Details = Field(default_factory=dict)
    """Figures of the editor about its rows (slots, margin, ...)."""
    memory: str = ""
    """The memory that was written."""
    model: str = ""
    """The model that was asked."""


class EditReport(EditContent):
    """The measured effect of one edit."""

    before: str | None
    after: str | None
    holds: bool
    """True if the new answer is given."""
    paraphrases: list[Outcome] = Field(default_factory=list)
    counterexamples: list[Outcome] = Field(default_factory=list)
    """Questions that the edit is not about; one that follows is answered by it all the same."""
    tests: list[Outcome] = Field(default_factory=list)
    """In a dry run, the tests that came with the edit; one that follows has the answer that it expects."""
    generated_paraphrases: list[Outcome] = Field(default_factory=list)
    """Wordings that the service made up, and whether they follow."""
    near_questions: list[Outcome] = Field(default_factory=list)
    """Questions that resemble the edited one, the likeliest first."""
    similar_names: list[str] = Field(default_factory=list)
    """Names of the graph that differ in one letter from a name in the question that the graph has not."""
    visitors: Outcome | None = None
    """What visitors hear, of the first edits of a commit; None where only one system is served."""
    warnings: list[str] = Field(default_factory=list)
    place: int | None = None
    """Place of the edit in the request; None for a revert or rollback."""


class RefusedEdit(Response):
    """An edit that was left out of its request."""

    place: int
    """Place of the edit in the request."""
    code: str
    """Code of a problem document, or `superseded` where a later edit of the request has the same question."""
    reason: str = ""
    """The editor's code for `edit_refused`."""
    detail: str


class EditTimings(Response):
    """Times of a commit, in milliseconds."""

    editor_ms: float
    """Milliseconds of computing the rows."""
    report_ms: float
    """Milliseconds of asking before and after, as far as the commit waited for it."""
    commit_ms: float
    """Milliseconds of writing to the ledger."""
    replicas_ms: float
    """Milliseconds until the replicas had it."""
    later_ms: float = 0.0
    """Milliseconds of measuring after the commit."""


class ProbeEffects(Response):
    """The differences of two versions in the answers to questions of no edit."""

    probes: int = 0
    """Number of further questions that were compared."""
    unmeasured_probes: int = 0
    """Number of further known questions whose answers may differ."""
    side_effects: list[Outcome] = Field(default_factory=list)
    """Questions of no edit that are answered differently."""


class Report(ProbeEffects):
    """The measured effect of a commit."""

    edits: list[EditReport]
    """The effect of each edit."""
    probes: int
    """Number of unrelated questions that were compared before and after."""
    broken_tests: list[Outcome]
    """Fact tests of earlier edits that no longer hold."""
    capacity: Capacity
    """The room of the memory."""
    timings: EditTimings
    superseded_tests: list[Outcome] = Field(default_factory=list)
    test_status: EditCounts | None = None
    """Counts of edits by the state of their fact tests."""
    edits_left_out: int = 0
    """Number of edits that a revert or rollback switched and `edits` does not list."""
    refused: list[RefusedEdit] = Field(default_factory=list)
    """Edits that were left out because of `skip_refused`."""
    report_state: Literal["measuring", "done", "missing"] = "done"
    """`measuring` while `probes` to `side_effects`, near questions, generated paraphrases and what visitors
    hear are measured after the commit; `missing` if they could not be."""
    report_note: str = ""
    """A sentence on a report that is not `done`."""
