"""The ledger as it is read: the log, one version, what an answer rests on, the difference of two, the fact tests."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field, JsonValue

from errata.wire.answers import Answer, AnswerFact
from errata.wire.base import CommitVersion, Details, Response, Version
from errata.wire.edits import Kind
from errata.wire.report import BrokenTest, SideEffect, SupersededTest
from errata.wire.state import EditCounts


class VersionHead(Response):
    """What every view of a commit says. target: the commit reverted, or the version rolled back to."""

    version: CommitVersion
    kind: Kind
    author: str
    time: AwareDatetime
    message: str
    target: Version | None = None


class EditHead(Response):
    """question: "" of what is said to the graph alone; then `notes` has the fact, the relation or the import. Each of
    their texts is cut to what a line has room for.
    """

    question: str
    notes: dict[str, JsonValue]


class VersionSummary(VersionHead):
    """edits: how many the commit made. first: of these. checksums: of each memory that it wrote, after it."""

    edits: int
    first: EditHead | None = None
    checksums: dict[str, str]


class VersionLog(Response):
    """Newest first. head: the newest version there is; 0 is the base, before any commit."""

    versions: list[VersionSummary]
    head: Version

    @property
    def entries(self) -> list[VersionSummary]:
        """The versions, by the name that every page has for what is on it."""
        return self.versions

    @property
    def next(self) -> int | None:
        """What to give as `before` for the page after this one; None on the last."""
        oldest = self.versions[-1].version if self.versions else 1
        return oldest if oldest > 1 else None


class EditState(Response):
    """active: the newest version still rests on this edit (nothing took it back)."""

    id: str
    question: str
    answer: str
    paraphrases: list[str] = Field(default_factory=list)
    counterexamples: list[str] = Field(default_factory=list)
    method: str
    model: str = ""
    memory: str = ""
    notes: Details = Field(default_factory=dict)
    active: bool


class WriteSummary(Response):
    """How many blocks of rows the commit put into one memory and removed from it, and its checksum after."""

    puts: int
    removes: int
    checksum: str


class VersionDetail(VersionHead):
    """edits: what the commit asked for. writes: memory name -> what it wrote. report: as in its receipt."""

    edits: list[EditState]
    checksums: dict[str, str]
    writes: dict[str, WriteSummary]
    report: Details


class EditDetail(VersionHead):
    """One edit, with the commit that made it."""

    edit: EditState


class ScopeCandidate(Response):
    """A wording of an edit that a question resembles.

    owner: the edit that was given the wording. edit: the one that answers for it, with `answer`. probability: that both
    ask for the same; None where it was clear without judging. verdict: `answers`; `less_likely` than the one that does;
    `near`, so that the reply names it; `not_asked`; `other_literal`, another number or code; `other_subject`; `far`.
    """

    edit: str
    owner: str
    question: str
    answer: str
    cosine: float
    probability: float | None
    verdict: str
    version: CommitVersion
    author: str
    message: str


class ScopeReport(Response):
    """The likeliest candidates first. edit: the one that answers the question; None where the base does."""

    version: Version
    model: str
    edit: str | None
    candidates: list[ScopeCandidate]


class Cause(EditDetail):
    """An edit behind an answer, with the commit that made it.

    owner: the edit that was given the wording; another one where this edit took its place.
    wording: the wording by which the question found the edit; None of an edit that no question is compared with.
    probability: that the question asks for the same as the wording.
    """

    owner: str | None = None
    wording: str | None = None
    probability: float | None = None


class Remainder(Response):
    """The answer without the causes: by the base, or by an earlier edit. answer: None where the model declines."""

    answer: str | None
    edits: list[str]


class WhyReport(Response):
    """An answer with all that it rests on.

    causes: the edits, in the order of the answer. facts: those of the graph that no edit says, as the base has them.
    without: what would answer without the causes, or without the facts where there are no causes; None where the
        answer rests on neither.
    """

    answer: Answer
    causes: list[Cause]
    facts: list[AnswerFact]
    without: Remainder | None = None


class Change(Response):
    """One question that two versions answer differently, and the edit that made the difference.

    before, after: None where the model declines. is_measured: False for the oldest of very many changes, whose
    answers are those the edits give, not the models' own; then None where no edit speaks.
    """

    question: str
    before: str | None
    after: str | None
    is_measured: bool = True
    edit: str
    change: Literal["added", "removed", "replaced"]
    model: str = ""


class FactChange(Response):
    """A triple, or a whole import, that only one of two versions has.

    change: added where it is the later version. act: set, add or remove; "import" of an import, whose `object` says
    how many triples it brought.
    """

    edit: str
    subject: str
    relation: str
    object: str
    act: str
    change: Literal["added", "removed"]


class Diff(Response):
    """What edits changed, and of `probes` further questions those that changed though no edit is about them.

    unmeasured_probes: how many more questions the service knows whose answers may differ and were not compared.
    facts: what only one of the two versions says about the graph, in the ledger's order.
    checksums_differ: memory name -> whether any of its rows differs between the two versions.
    """

    from_version: Version
    to_version: Version
    changes: list[Change]
    probes: int = 0
    unmeasured_probes: int = 0
    side_effects: list[SideEffect] = Field(default_factory=list)
    facts: list[FactChange] = Field(default_factory=list)
    checksums_differ: dict[str, bool]


class CheckReport(Response):
    """The fact tests at one version, one for each wording of an active edit. edits: the states of the edits.

    superseded: tests that a later edit answers anew; superseded_tests lists them where that was asked for.
    overwritten: those of them of which nobody said that they are to be replaced.
    damaged_imports: imports in force whose rows are not what their commits say, in one sentence each.
    """

    version: Version
    total: int
    holding: int
    broken: list[BrokenTest]
    superseded: int
    edits: EditCounts | None = None
    superseded_tests: list[SupersededTest] | None = None
    overwritten: list[SupersededTest] = Field(default_factory=list)
    damaged_imports: list[str] = Field(default_factory=list)
