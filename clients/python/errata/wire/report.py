"""The report of a commit: its measured effect, by questions asked before and after it, for a curator to judge."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from errata.wire.base import Details, Response, Version
from errata.wire.state import Capacity, EditCounts


class ParaphraseReport(Response):
    question: str
    before: str | None
    after: str | None
    follows: bool


class NearQuestion(Response):
    """A question that resembles an edited one: of the pack, or of an earlier edit that keeps its own answer."""

    question: str
    probability: float
    """How likely it asks for the same."""
    follows: bool = False
    """True if the edit answers it."""
    version: Version | None = None
    """The version that made the earlier edit; None for a question of the pack."""
    answer: str | None = None
    """The answer of the earlier edit."""


class VisitorsReport(Response):
    """What a visitor hears who asks the question of an edit without naming a system."""

    before: str | None
    """The answer before the edit; None if all systems decline, as for `after`."""
    after: str | None
    model: str
    """The system that answers after it."""
    edited_in: Version | None = None
    """The version of the correction or fact that it answers by; None if it answers by none."""


class EditReport(Response):
    """The measured effect of one edit."""

    id: str
    """"" where nothing had to be written."""
    question: str
    """"" where only the graph changed and no question is known for it; `notes` then has `subject`,
    `relation`, `object` and `act`."""
    answer: str
    method: str
    before: str | None
    after: str | None
    holds: bool
    """True if the new answer is given."""
    paraphrases: list[ParaphraseReport] = Field(default_factory=list)
    counterexamples: list[ParaphraseReport] = Field(default_factory=list)
    """Questions that the edit is not about; one that follows is answered by it all the same."""
    tests: list[ParaphraseReport] = Field(default_factory=list)
    """In a dry run, the tests that came with the edit; one that follows has the answer that it expects."""
    notes: Details = Field(default_factory=dict)
    """Figures of the editor about its rows (slots, margin, ...)."""
    generated_paraphrases: list[ParaphraseReport] = Field(default_factory=list)
    """Wordings that the service made up, and whether they follow."""
    near_questions: list[NearQuestion] = Field(default_factory=list)
    """Questions that resemble the edited one, the likeliest first."""
    similar_names: list[str] = Field(default_factory=list)
    """Names of the graph that differ in one letter from a name in the question that the graph has not."""
    visitors: VisitorsReport | None = None
    """What visitors hear, of the first edits of a commit; None where only one system is served."""
    warnings: list[str] = Field(default_factory=list)
    memory: str = ""
    """The memory that was written."""
    model: str = ""
    """The model that was asked."""
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


class Link(Response):
    """Paths of the service that show one question's answer at the two versions; `after` is None for a dry run."""

    before: str
    after: str | None = None


class SideEffect(Response):
    """A question that no edit is about and whose answer changed all the same."""

    question: str
    before: str | None
    after: str | None
    model: str = ""
    link: Link | None = None
    asks_the_same: bool = False
    """Whether an edit would replace another one of this question, so surely it asks for the same."""


class BrokenTest(Response):
    """A test that fails now, of the edit `edit` from `version`; it expects None where the model has to decline."""

    edit: str
    version: Version
    question: str
    expected: str | None
    actual: str | None


class FailingTest(BrokenTest):
    """A test that came with an edit and fails now."""

    by_version: Version | None
    """The version of the edit that answers its question; None where no edit does."""


class SupersededTest(BrokenTest):
    """A fact test whose question a later edit answers: the edit `by` from `by_version`."""

    by: str
    by_version: Version
    """The version of the edit that answers now."""
    on_purpose: bool = True
    """True if the later edit has the same question, or names the earlier one in `replaces`."""


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


class Report(Response):
    """The measured effect of a commit."""

    edits: list[EditReport]
    """The effect of each edit."""
    probes: int
    """Number of unrelated questions that were compared before and after."""
    unmeasured_probes: int = 0
    """Number of further known questions whose answers may have changed."""
    side_effects: list[SideEffect] = Field(default_factory=list)
    """Questions of no edit whose answers change."""
    broken_tests: list[BrokenTest]
    """Fact tests of earlier edits that no longer hold."""
    capacity: Capacity
    """The room of the memory."""
    timings: EditTimings
    superseded_tests: list[SupersededTest] = Field(default_factory=list)
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
