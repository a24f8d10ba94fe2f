"""Questions and answers as they travel: POST /v1/answers and /v1/answers/batch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from errata.wire.base import Details, Name, Request, Response, Text, Version
from errata.wire.problems import Problem

MAX_CONTEXT_CHARS = 100_000
MAX_BATCH = 256
PIN_TOO_OLD = (
    "version {pin} is older than min_version {least}, and an answer is from one of them only: leave one out"
)


class AnswerRequest(Request):
    """version: read exactly this version. min_version: wait until the replica has at least this one; of both, the
    first may not be older. model: "auto" asks all that can read the question, and the surest answers; without a name
    the service's choice, "auto" where nothing else is chosen. kg: "none" answers without the graph, for systems that
    read it.
    """

    question: Text
    model: Name | None = None
    context: Annotated[str, Field(max_length=MAX_CONTEXT_CHARS)] | None = None
    candidates: Annotated[list[Text], Field(min_length=1, max_length=MAX_BATCH)] | None = None
    document: Name | None = None
    kg: Literal["graph", "none"] = "graph"
    version: Version | None = None
    min_version: Version | None = None
    top_k: Annotated[int, Field(ge=1, le=10)] = 1
    explain: bool = False
    stream: bool = False

    @model_validator(mode="after")
    def _check_versions(self) -> AnswerRequest:
        if self.version is not None and self.version < (self.min_version or 0):
            raise PydanticCustomError(
                "pin_too_old", PIN_TOO_OLD, {"pin": self.version, "least": self.min_version}
            )
        return self


class Alternative(Response):
    answer: str
    score: float


class AnswerFact(Response):
    """A triple that an answer rests on. entity: the subject's id. edit: the one that says so, "" for the base."""

    entity: str
    subject: str
    relation: str
    label: str
    object: str
    edit: str = ""


class Timings(Response):
    queue_ms: float
    graph_ms: float
    model_ms: float
    total_ms: float


class AnswerDelta(Response):
    """A part of an answer that is still being made, the event `delta` of a stream.

    text: what the answer goes on with. progress: of systems that read before they write, and of "auto", which says
    how many systems have replied.
    """

    text: str
    progress: Details | None = None


class NearbyEdit(Response):
    """An edit that the question may ask for, and not surely enough to be answered by it.

    question: the wording of the edit that is near. probability: that both ask for the same.
    """

    edit: str
    question: str
    probability: float


class Answer(Response):
    """answer: None when the model declines, `reason` says why as a code, `reason_text` in words, and
    `best` is what it would have said.

    degraded: why the version may be old (`ledger_unavailable`), else None.
    edits: ids of the edits that the answer rests on. facts: those of the graph. nearby_edit: to ask back about.
    """

    answer: str | None
    reason: str | None = None
    reason_text: str | None = None
    score: float
    best: str
    alternatives: list[Alternative]
    model: str
    version: Version
    edits: list[str]
    facts: list[AnswerFact]
    nearby_edit: NearbyEdit | None = None
    timings: Timings
    truncated: bool = False
    degraded: str | None = None
    replica: str
    explanation: Details | None = None


class BatchRequest(Request):
    """Items are checked one by one, as AnswerRequest, so that one bad item does not spoil the rest."""

    questions: Annotated[list[JsonValue], Field(min_length=1, max_length=MAX_BATCH)]


class BatchResult(Response):
    """Exactly one of the two is set."""

    answer: Answer | None = None
    problem: Problem | None = None


class BatchResponse(Response):
    results: list[BatchResult]
