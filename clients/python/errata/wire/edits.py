"""The changes of a curator: edits, reverts and rollbacks, each answered with a receipt."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic import (
    Tag as UnionTag,
)
from pydantic_core import PydanticCustomError

from errata.wire.base import Request, Response
from errata.wire.report import Report
from errata.wire.state import ReplicaState
from errata.wire.texts import CommitVersion, Day, Details, Message, Name, Text, Version, say_instead
from errata.wire.wording import normalize_question

MAX_EDITS = 1_000
MAX_PREVIEW_EDITS = 20_000
MAX_PARAPHRASES = 20
MAX_REPLACED = 20
MAX_TESTS = 100
MAX_REVERTED = 500  # largest number of ids that fit into the short body of a revert
NO_EDIT_NAME = (
    "names no edit: a version is expected, a number from 1 on, or the id of an edit as errata show lists it"
)

Kind = Literal["edit", "revert", "rollback"]
Act = Literal["set", "add", "remove"]
Wait = Literal["all", "none"]


EditId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12}$")]


EditName = Annotated[CommitVersion | EditId, say_instead("no_edit_name", NO_EDIT_NAME)]

DateText = Annotated[
    str,
    Field(pattern=r"^(|unknown|\d{1,12}(s|-\d\d|-\d\d-\d\d)?( BC)?)$"),
    say_instead("no_date", "is no date: write 2023-12-31, 2023-12, 2023, 1990s, 44 BC or unknown"),
]


def _check_words(text: str) -> str:
    if not any(map(str.isalnum, text)):
        raise PydanticCustomError(
            "no_words", "has no words, so any other sign would ask the same: write a question in words"
        )
    return text


Question = Annotated[Text, AfterValidator(_check_words)]


class EditTest(Request):
    """A question that a check asks as long as its edit is active."""

    question: Text
    answer: Text | None = None
    """The expected answer; None for the one that is given before the edit is made."""


class EditItem(Request):
    """A correction: this question has this answer."""

    question: Question
    answer: Text
    paraphrases: Annotated[list[Question], Field(max_length=MAX_PARAPHRASES)] = Field(default_factory=list)
    counterexamples: Annotated[list[Text], Field(max_length=MAX_PARAPHRASES)] = Field(default_factory=list)
    """Questions that resemble this one and ask for something else. The edit never answers them, nor a
    question that resembles them more than its own wordings."""
    replaces: Annotated[list[EditName], Field(max_length=MAX_REPLACED)] = Field(default_factory=list)
    """Earlier corrections that this one replaces, each by the version that made it or by its id."""
    tests: Annotated[list[EditTest], Field(max_length=MAX_TESTS)] = Field(default_factory=list)
    """Further questions that show what follows from the edit and what has to stay. They are kept with it."""
    model: Name | None = None
    """The corrected model; None is the service's choice."""

    @model_validator(mode="after")
    def _check_examples(self) -> EditItem:
        wordings = {normalize_question(text): text for text in (self.question, *self.paraphrases)}
        tests_against = [test.question for test in self.tests if test.answer != self.answer]
        for text in (*self.counterexamples, *tests_against):
            if normalize_question(text) in wordings:
                raise PydanticCustomError(
                    "for_and_against",
                    "{text} is an example for this edit and against it: leave it out on one side",
                    {"text": repr(text)},
                )
        return self


class FactItem(Request):
    """A triple: a fact for every system that is served, or, with `only`, for the graph alone."""

    subject: Text
    """An entity's id or name (409 `ambiguous` when several have the name; a new entity when none has it)."""
    relation: Name
    """Its name in the graph; `label`, `alias` and `description` are names of an entity."""
    object: Text
    """A value; where it is the id or the name of an entity, now or later, it is that entity (409 `ambiguous`
    when several have the name)."""
    act: Act | None = None
    """Set one value in place of all others, add one, or remove one. None follows the relation: 409
    `add_or_set` where it has a value and does not say how many it holds."""
    begin: DateText = ""
    """The first date at which it holds, as exactly as it is known: 1889, 1889-03, 1889-03-31, 44 BC."""
    end: DateText = ""
    """The last date; a fact that has ended is kept as history, and answers no question about today."""
    time: DateText = ""
    """The point in time of which it is said: of several the newest is current."""
    unit: Annotated[str, Field(max_length=200)] = ""
    """The unit of a number, which is answered with it: a text, or the id of an entity."""
    rank: Literal["", "preferred"] = ""
    """"preferred" makes it the value of its relation, beside normal ones that hold as well."""
    source: Annotated[str, Field(max_length=2_000)] = ""
    """Who says it, such as the graph of a file."""
    only: Literal["graph"] | None = None
    """"graph" changes the graph alone, and no other memory."""
    create: bool = False
    """Make a new subject or relation, though its name is one letter away from one in use (otherwise 409
    `similar_name`), and keep as a text an object that is the name of several entities."""


class RelationItem(Request):
    """The definition of a relation: the number of values for one subject, and its label, which a model reads."""

    define: Name
    holds: Literal["one", "many"] | None = None
    label: Text | None = None

    @model_validator(mode="after")
    def _check_content(self) -> RelationItem:
        if self.holds is None and self.label is None:
            raise PydanticCustomError(
                "says_nothing", "say how many values it `holds`, or its `label`, or both"
            )
        return self


class MemoryItem(Request):
    """A change of a kind that only one memory knows: a rule, rows, senses, a document."""

    memory: Name
    """The memory that is changed."""
    kind: Name
    """A kind of change that /v1/models lists for the memory."""
    change: Details
    """The fields of that kind."""
    question: Text | None = None
    """A question that shows whether the change works, kept as a fact test with its `answer`; both or none."""
    answer: Text | None = None
    """The expected answer to the question."""
    paraphrases: Annotated[list[Text], Field(max_length=MAX_PARAPHRASES)] = Field(default_factory=list)
    model: Name | None = None
    """The system that is asked; by default the first that reads the memory."""

    @model_validator(mode="after")
    def _check_question(self) -> MemoryItem:
        if (self.question is None) != (self.answer is None) or (self.paraphrases and self.question is None):
            raise PydanticCustomError(
                "half_a_test",
                "give a question with its answer, and other wordings beside it, or none of them",
            )
        return self


def _discriminate(item: Any) -> str:
    """Tell the kind of an edit by fields that only one kind has, so that an error is about the intended kind."""
    names = item if isinstance(item, dict) else getattr(type(item), "model_fields", {})
    if "define" in names:
        return "<definition>"
    if "memory" in names:
        return "<change>"
    return "<fact>" if {"subject", "relation", "object"} & set(names) else "<correction>"


Item = Annotated[
    Annotated[EditItem, UnionTag("<correction>")]
    | Annotated[FactItem, UnionTag("<fact>")]
    | Annotated[RelationItem, UnionTag("<definition>")]
    | Annotated[MemoryItem, UnionTag("<change>")],
    Discriminator(_discriminate),
]


class WriteRequest(Request):
    """The base of every request that makes a commit, or tries it."""

    message: Message = ""
    wait: Wait = "all"
    dry_run: bool = False


class CommitRequest(WriteRequest):
    """The base of requests whose effect is measured."""

    wait_report: bool = False
    strict: bool = False


class EditRequest(CommitRequest):
    """Edits that become one commit, or none does."""

    measure: bool = True  # before `edits`, whose number depends on it
    """False, in a dry run, only lists the edits that would be refused, of up to MAX_PREVIEW_EDITS. It is
    quick, and its rows are cached for the commit. A request whose Idempotency-Key made a commit is answered
    with that commit."""
    edits: Annotated[list[Item], Field(min_length=1, max_length=MAX_PREVIEW_EDITS)]
    """Corrections, facts and definitions of relations, which become one commit."""
    expected_version: Version | None = None
    """Answer 409 if the ledger has moved on."""
    method: Name | None = None
    """The way in which the memories write the edits; /v1/models lists the methods and `options` of each."""
    options: Details = Field(default_factory=dict)
    """Settings of the method, by name."""
    review: Day | None = None
    """A day on which a person looks at the edits again; they then stand in GET /admin/reviews."""
    strict: bool = False
    """Answer 409 `breaks_tests` instead of a commit that breaks a fact test of an earlier edit, or replaces
    one unasked, or changes an answer to a question of the pack that asks for something else, and 409
    `similar_name` if a question names something one letter away from a name of the graph."""
    skip_refused: bool = False
    """Leave out refused edits and commit the others; the report lists those left out."""

    @field_validator("edits")
    @classmethod
    def _check_size(cls, edits: list[Item], info: ValidationInfo) -> list[Item]:
        if info.data.get("measure", True) and len(edits) > MAX_EDITS:
            limits = {"most": MAX_EDITS, "count": len(edits)}
            raise PydanticCustomError(
                "too_long", "one commit takes at most {most} edits, not {count}", limits
            )
        return edits

    @model_validator(mode="after")
    def _check_measure(self) -> EditRequest:
        if not self.measure and not self.dry_run:
            raise PydanticCustomError("unmeasured", "`measure` may be false in a dry run only")
        return self


class RevertRequest(CommitRequest):
    """What to take back; with `dry_run` the report describes the effect, and nothing changes."""

    version: CommitVersion | None = None
    """A commit, of which all that is left is taken back."""
    edits: Annotated[list[EditId], Field(max_length=MAX_REVERTED)] = Field(default_factory=list)
    """Ids of edits, of any commits, in place of `version`; the other edits of these commits stay."""

    @model_validator(mode="after")
    def _check_target(self) -> RevertRequest:
        if (self.version is None) != bool(self.edits):
            raise PydanticCustomError(
                "one_target", "say what to take back: a `version`, or `edits` by their ids"
            )
        return self


class RollbackRequest(CommitRequest):
    """A version to return to; with `dry_run` the report describes the effect, and nothing changes."""

    to: Version


class IdempotencyHeader(Request):
    """The Idempotency-Key header: a write repeated with the same key is answered with its first result."""

    idempotency_key: Annotated[str, StringConstraints(pattern=r"^[!-~]{1,200}$")]


class EditReceipt(Response):
    """The receipt of a commit."""

    version: Version | None
    """None for a dry run."""
    kind: Kind
    report: Report
    replicas: list[ReplicaState]
    all_applied: bool
    """True if every replica confirmed before the response was sent."""
