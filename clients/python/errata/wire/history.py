"""Readings of the ledger: the log, one version, the causes of an answer, the difference of two, the fact tests."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import AwareDatetime, Field, JsonValue

from errata.wire.answers import Answer, AnswerFact, Qualifiers
from errata.wire.base import Response, Snapshot
from errata.wire.edits import Kind
from errata.wire.graph import ImportedTriple, Triple
from errata.wire.report import EditContent, Outcome, ProbeEffects
from errata.wire.state import EditCounts, Hits
from errata.wire.texts import CommitVersion, Details, Version


class VersionHead(Response):
    """A commit."""

    version: CommitVersion
    kind: Kind
    author: str
    time: AwareDatetime
    message: str
    target: Version | None = None
    """The commit that it reverts, or the version that it returns to."""
    target_edits: list[str] = Field(default_factory=list)
    """Ids of the edits that it takes back one by one, and not with their commits."""
    target_versions: list[CommitVersion] = Field(default_factory=list)
    """The versions that made these edits."""


class EditHead(Response):
    """An edit in one line; texts are cut to its length."""

    question: str
    """"" for an edit of the graph alone; then `notes` has the fact, the relation or the import."""
    answer: str = ""
    notes: dict[str, JsonValue]


class VersionSummary(VersionHead):
    """A commit with its number of edits, the first of them, and the new checksum of each memory that it wrote.

    The first edit of a revert is one that it takes back or brings back.
    """

    edits: int
    first: EditHead | None = None
    checksums: dict[str, str]


class VersionLog(Response):
    """Commits, the newest first, and the newest version (`head`); 0 is the base, before any commit."""

    versions: list[VersionSummary]
    head: Version
    edits_by_day: dict[date, int] = Field(default_factory=dict)
    """Number of edits made on each of the last days in UTC, as many as were asked for."""

    @property
    def entries(self) -> list[VersionSummary]:
        """The versions, under the name that every page has."""
        return self.versions

    @property
    def next(self) -> int | None:
        """The `before` of the following page; None on the last."""
        oldest = self.versions[-1].version if self.versions else 1
        return oldest if oldest > 1 else None


class KeptTest(Response):
    """A test of an edit; its answer is None where the model declined before the edit and still has to."""

    question: str
    answer: str | None


class EditState(EditContent):
    """An edit; it is `active` until it is taken back."""

    paraphrases: list[str] = Field(default_factory=list)
    counterexamples: list[str] = Field(default_factory=list)
    tests: list[KeptTest] = Field(default_factory=list)
    active: bool
    hits: Hits | None = None
    """The answers to users that rested on it; None while they cannot be read."""
    review: date | None = None
    """The day on which a person looks at it again."""
    replaced_in: CommitVersion | None = None
    """In a commit, the version of the active edit that took its place, where there is one."""


class WriteSummary(Response):
    """The numbers of blocks that a commit put into one memory and removed from it, and the memory's new checksum."""

    puts: int
    removes: int
    checksum: str


class VersionDetail(VersionHead):
    """A commit with its edits, its writes by memory, and the report of its receipt."""

    edits: list[EditState]
    checksums: dict[str, str]
    writes: dict[str, WriteSummary]
    report: Details


class EditDetail(VersionHead):
    """One edit, with the commit that made it."""

    edit: EditState
    replaced_by: str | None = None
    """Id of the edit that took its place, where there is one."""
    replaced_in: CommitVersion | None = None
    """The version that made that edit."""


class ActiveEdit(Response):
    """An active edit as it can be sent again; the triples of an import are facts of the graph alone."""

    id: str
    """The edit, or the import."""
    version: CommitVersion
    """The version that made it."""
    method: str = ""
    """How its rows were computed; "" for the usual way."""
    edit: Details
    """A correction, a fact or the definition of a relation, as POST /admin/edits takes it; of one memory a change of
    its own kind, too, whose long texts are cut."""
    author: str = ""
    """Of one memory, who made it, as for `message`."""
    message: str = ""


class ActiveEditList(Snapshot):
    """Active edits."""

    edits: list[ActiveEdit]
    """The edits, in the ledger's order."""
    left_out: list[str] = Field(default_factory=list)
    """A sentence on each kind of change that is not in the list."""


class ScopeCandidate(Response):
    """A wording of an edit that a question resembles."""

    edit: str
    """The edit that answers for the wording, with `answer`."""
    owner: str
    """The edit that has the wording."""
    question: str
    """The wording."""
    answer: str
    cosine: float
    """Similarity of the wording and the question, from -1 to 1."""
    probability: float | None
    """How likely both ask for the same; None where it was clear without the judge."""
    verdict: str
    """`answers`; `less_likely` than the one that does; `near`, so that the reply names it; `not_asked`;
    `other_literal`, another number or code; `other_subject`; `far`, or further than two other edits."""
    version: CommitVersion
    author: str
    message: str


class ScopeReport(Snapshot):
    """The candidates, the likeliest first, and the edit that answers the question; None where the base does."""

    model: str
    edit: str | None
    candidates: list[ScopeCandidate]


class Cause(EditDetail):
    """An edit behind an answer, with the commit that made it."""

    owner: str | None = None
    """The edit that has the wording; another one where this edit replaced it."""
    wording: str | None = None
    """The wording by which the question found the edit; None for an edit without questions."""
    probability: float | None = None
    """How likely the question asks for the same as the wording."""


class Remainder(Response):
    """The answer without the causes, by the base or an earlier edit; None where the model declines."""

    answer: str | None
    edits: list[str]


class WhyReport(Response):
    """An answer with all that it rests on."""

    answer: Answer
    """The answer, as /v1/answers gives it."""
    causes: list[Cause]
    """The edits, in the order of the answer."""
    facts: list[AnswerFact]
    """Facts of the graph's base."""
    without: Remainder | None = None
    """The answer of the same model without the causes, or without the facts where there are no causes; None
    where the answer rests on neither."""


class EditDifference(Response):
    """An edit that only one of two versions has."""

    edit: str
    change: Literal["added", "removed"]
    """"added" if the later version has it."""


class FactChange(EditDifference, Triple, Qualifiers):
    """A triple, or a whole import, that only one of two versions has."""

    act: str
    """set, add or remove; "import" for an import."""
    triples: int = 1
    """Number of triples; more than one only for an import."""
    rows: list[ImportedTriple] = Field(default_factory=list)
    """Of an import, the triples that its commit lists."""


class MemoryChange(EditDifference):
    """A change of a memory's own kind, such as a rule or a sense, that only one of two versions has."""

    memory: str
    kind: str
    """A kind of change that the memory takes."""
    summary: str
    """The change in a few words."""


class Diff(ProbeEffects):
    """The difference between two versions."""

    from_version: Version
    """The earlier of the two."""
    to_version: Version
    """The later of the two."""
    changes: list[Outcome]
    """Questions of edits that are answered differently."""
    facts: list[FactChange] = Field(default_factory=list)
    """Triples that only one of the versions has, in the ledger's order."""
    memory_changes: list[MemoryChange] = Field(default_factory=list)
    """Changes of the memories' own kinds that only one of the versions has, in the same order."""
    checksums_differ: dict[str, bool]
    """Memory -> True if any of its rows differs."""


class CheckReport(Snapshot):
    """The fact tests at one version, one for each wording of an active edit, and for each fact without a question."""

    total: int
    holding: int
    """Number of tests that hold."""
    broken: list[Outcome]
    """The tests that fail."""
    superseded: int
    """Number of tests whose questions later edits answer; `superseded_tests` lists them on request."""
    edits: EditCounts | None = None
    """Counts of edits by state."""
    superseded_tests: list[Outcome] | None = None
    overwritten: list[Outcome] = Field(default_factory=list)
    """Superseded tests that no edit names in `replaces`."""
    tests: int = 0
    """Number of tests that came with edits; those of replaced edits are left out."""
    failing_tests: list[Outcome] = Field(default_factory=list)
    """Those of them whose questions have other answers now."""
    other_answers: list[Outcome] = Field(default_factory=list)
    """Questions of the pack that ask for something else than every correction, and that one of them answers
    all the same."""
    unmeasured_probes: int = 0
    """Further questions of the pack that a correction may answer, and that were not asked."""
    damaged_imports: list[str] = Field(default_factory=list)
    """Active imports whose rows differ from their commits, in one sentence each."""
