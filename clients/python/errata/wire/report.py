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
    """A question that resembles an edited one: of the pack, or of an earlier edit that keeps its own answer.

    Attributes:
        probability: How likely it asks for the same.
        follows: True if the edit answers it.
        version: The version that made the earlier edit; None for a question of the pack.
        answer: The answer of the earlier edit.
    """

    question: str
    probability: float
    follows: bool = False
    version: Version | None = None
    answer: str | None = None


class VisitorsReport(Response):
    """What a visitor hears who asks the question of an edit without naming a system.

    Attributes:
        before: The answer before the edit; None if all systems decline, as for `after`.
        model: The system that answers after it.
        edited_in: The version of the correction or fact that it answers by; None if it answers by none.
    """

    before: str | None
    after: str | None
    model: str
    edited_in: Version | None = None


class EditReport(Response):
    """The measured effect of one edit.

    Attributes:
        id: "" where nothing had to be written.
        question: "" where only the graph changed and no question is known for it; `notes` then has `subject`,
            `relation`, `object` and `act`.
        holds: True if the new answer is given.
        counterexamples: Questions that the edit is not about; one that follows is answered by it all the same.
        tests: In a dry run, the tests that came with the edit; one that follows has the answer that it expects.
        generated_paraphrases: Wordings that the service made up, and whether they follow.
        notes: Figures of the editor about its rows (slots, margin, ...).
        near_questions: Questions that resemble the edited one, the likeliest first.
        similar_names: Names of the graph that differ in one letter from a name in the question that the graph has not.
        visitors: What visitors hear, of the first edits of a commit; None where only one system is served.
        memory: The memory that was written.
        model: The model that was asked.
        place: Place of the edit in the request; None for a revert or rollback.
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
    tests: list[ParaphraseReport] = Field(default_factory=list)
    notes: Details = Field(default_factory=dict)
    generated_paraphrases: list[ParaphraseReport] = Field(default_factory=list)
    near_questions: list[NearQuestion] = Field(default_factory=list)
    similar_names: list[str] = Field(default_factory=list)
    visitors: VisitorsReport | None = None
    warnings: list[str] = Field(default_factory=list)
    memory: str = ""
    model: str = ""
    place: int | None = None


class RefusedEdit(Response):
    """An edit that was left out of its request.

    Attributes:
        place: Place of the edit in the request.
        code: Code of a problem document, or `superseded` where a later edit of the request has the same question.
        reason: The editor's code for `edit_refused`.
    """

    place: int
    code: str
    reason: str = ""
    detail: str


class Link(Response):
    """Paths of the service that show one question's answer at the two versions; `after` is None for a dry run."""

    before: str
    after: str | None = None


class SideEffect(Response):
    """A question that no edit is about and whose answer changed all the same.

    Attributes:
        asks_the_same: Whether an edit would replace another one of this question, so surely it asks for the same.
    """

    question: str
    before: str | None
    after: str | None
    model: str = ""
    link: Link | None = None
    asks_the_same: bool = False


class BrokenTest(Response):
    """A test that fails now, of the edit `edit` from `version`; it expects None where the model has to decline."""

    edit: str
    version: Version
    question: str
    expected: str | None
    actual: str | None


class FailingTest(BrokenTest):
    """A test that came with an edit and fails now.

    Attributes:
        by_version: The version of the edit that answers its question; None where no edit does.
    """

    by_version: Version | None


class SupersededTest(BrokenTest):
    """A fact test whose question a later edit answers: the edit `by` from `by_version`.

    Attributes:
        by_version: The version of the edit that answers now.
        on_purpose: True if the later edit has the same question, or names the earlier one in `replaces`.
    """

    by: str
    by_version: Version
    on_purpose: bool = True


class EditTimings(Response):
    """Times of a commit, in milliseconds.

    Attributes:
        editor_ms: Milliseconds of computing the rows.
        report_ms: Milliseconds of asking before and after, as far as the commit waited for it.
        commit_ms: Milliseconds of writing to the ledger.
        replicas_ms: Milliseconds until the replicas had it.
        later_ms: Milliseconds of measuring after the commit.
    """

    editor_ms: float
    report_ms: float
    commit_ms: float
    replicas_ms: float
    later_ms: float = 0.0


class Report(Response):
    """The measured effect of a commit.

    Attributes:
        edits: The effect of each edit.
        probes: Number of unrelated questions that were compared before and after.
        unmeasured_probes: Number of further known questions whose answers may have changed.
        side_effects: Questions of no edit whose answers change.
        broken_tests: Fact tests of earlier edits that no longer hold.
        capacity: The room of the memory.
        test_status: Counts of edits by the state of their fact tests.
        edits_left_out: Number of edits that a revert or rollback switched and `edits` does not list.
        refused: Edits that were left out because of `skip_refused`.
        report_state: `measuring` while `probes` to `side_effects`, near questions, generated paraphrases and what
            visitors hear are measured after the commit; `missing` if they could not be.
        report_note: A sentence on a report that is not `done`.
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
    report_state: Literal["measuring", "done", "missing"] = "done"
    report_note: str = ""
