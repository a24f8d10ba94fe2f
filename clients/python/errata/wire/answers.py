"""Questions and answers, and the worklist of questions that were not answered well."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError, PydanticKnownError

from errata.wire.base import CommitVersion, Details, Name, Request, Response, Text, Version
from errata.wire.problems import Problem

MAX_CONTEXT_CHARS, MAX_PASSAGES = 100_000, 100
MAX_BATCH = 256
MAX_TOKENS, MAX_SEED, MAX_LOGPROBS = 1_024, 2**63 - 1, 20
MAX_STOPS, MAX_STOP_CHARS = 16, 100
NOT_DRAWN = (
    "an answer is drawn, or it is chosen among `candidates` or comes with alternatives: leave out one of them"
)
PIN_TOO_OLD = (
    "version {pin} is older than min_version {least}, and an answer is from one of them only: leave one out"
)


def read_passages(value: Any) -> Any:
    """Return the texts of a context: a list of them, or one alone; raise PydanticKnownError if they are too long."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list):
        raise PydanticCustomError("no_passages", "is neither a text nor a list of texts")
    if sum(len(text) for text in texts if isinstance(text, str)) > MAX_CONTEXT_CHARS:
        raise PydanticKnownError("string_too_long", {"max_length": MAX_CONTEXT_CHARS})
    return texts


Passages = Annotated[
    list[str],
    Field(min_length=1, max_length=MAX_PASSAGES),
    BeforeValidator(read_passages, json_schema_input_type=str | list[str]),
]


class Sampling(Request):
    """The way an answer's text is drawn, for models that write freely. The answer is given at any score.

    Attributes:
        temperature: 0 takes the likeliest token.
        top_p: Draw from the likeliest tokens that have this share of the probability.
        seed: Another seed gives another draw.
        max_tokens: Limit in the model's tokens.
        stop: The answer ends before the first of these.
        logprobs: Return the tokens, each with this number of the likeliest ones in its place.
    """

    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS)] | None = None
    stop: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MAX_STOP_CHARS)]], Field(max_length=MAX_STOPS)
    ] = Field(default_factory=list)
    logprobs: Annotated[int, Field(ge=0, le=MAX_LOGPROBS)] | None = None


class AnswerRequest(Request):
    """A question.

    Attributes:
        model: "auto" asks all models that can read the question, and the surest answers; None is the service's choice.
        context: A text in which the answer may stand, or several, for models that read one; the answer has its `place`.
        document: A document that the question is about, for models that read documents.
        kg: "none" answers without the graph, for systems that read it.
        version: Read exactly this version, which may not be older than `min_version`.
        min_version: Wait until the replica has at least this version.
        sampling: The way the text is drawn, for models that write freely; the answer is given at any score.
    """

    question: Text
    model: Name | None = None
    context: Passages | None = None
    candidates: Annotated[list[Text], Field(min_length=1, max_length=MAX_BATCH)] | None = None
    document: Name | None = None
    kg: Literal["graph", "none"] = "graph"
    version: Version | None = None
    min_version: Version | None = None
    top_k: Annotated[int, Field(ge=1, le=10)] = 1
    explain: bool = False
    stream: bool = False
    sampling: Sampling | None = None

    @model_validator(mode="after")
    def _check_sampling(self) -> AnswerRequest:
        if self.sampling is not None and (self.candidates or self.top_k > 1):
            raise PydanticCustomError("not_drawn", NOT_DRAWN)
        return self

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
    """A triple that an answer rests on, with the id of its subject (`entity`) and its edit, "" for the base."""

    entity: str
    subject: str
    relation: str
    label: str
    object: str
    edit: str = ""


class Place(Response):
    """The place of an answer in the text that it was read from.

    Attributes:
        passage: Number of the text among those of the question's context, from 0; 0 in a document.
        start: Its first character there.
        end: The character behind it.
    """

    passage: int
    start: int
    end: int


class Timings(Response):
    """Times of a question, in milliseconds.

    Attributes:
        queue_ms: Milliseconds of waiting for other questions.
        graph_ms: Milliseconds of reading the graph.
        model_ms: Milliseconds of the model.
        total_ms: Milliseconds from the question's arrival at the replica to its answer.
    """

    queue_ms: float
    graph_ms: float
    model_ms: float
    total_ms: float


class AnswerDelta(Response):
    """A part of an unfinished answer, the event `delta` of a stream.

    Attributes:
        text: The next part of the answer.
        progress: Figures of systems that read before they write; "auto" counts the systems that have replied.
    """

    text: str
    progress: Details | None = None


class NearbyEdit(Response):
    """An edit that the question may ask for, but not surely enough for its answer.

    Attributes:
        question: The wording of the edit that is near.
        probability: How likely both ask for the same.
    """

    edit: str
    question: str
    probability: float


class TokenChance(Response):
    """A token, and its log-probability at temperature 1."""

    text: str
    logprob: float


class AnswerToken(TokenChance):
    """A token of a drawn answer, with the likeliest tokens in its place (`top`)."""

    top: list[TokenChance]


class Answer(Response):
    """An answer.

    Attributes:
        answer: None when the model declines; then `reason` is the code, `reason_text` the words, and `best` the answer
            that it was not sure enough of.
        alternatives: Further answers, the likeliest first.
        edits: Ids of the edits that the answer rests on.
        edited_in: The version that made the newest of them.
        facts: Facts of the graph that it rests on.
        place: Where it stands in the context or the document that it was read from.
        nearby_edit: An edit that the question may have meant.
        truncated: True if the question was longer than the model reads.
        degraded: Code of the problem for which the version may be old (`ledger_unavailable`), else None.
        away: Systems whose replies "auto" lacks because they failed or are being started again.
        explanation: What the model went by, in the model's own form.
        finish: "stop" for a drawn answer that ended by itself or before a stop, "length" for one at its limit.
        tokens: The tokens of a drawn answer, where `logprobs` asks for them.
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
    edited_in: CommitVersion | None = None
    facts: list[AnswerFact]
    place: Place | None = None
    nearby_edit: NearbyEdit | None = None
    timings: Timings
    truncated: bool = False
    degraded: str | None = None
    away: list[str] = Field(default_factory=list)
    replica: str
    explanation: Details | None = None
    finish: Literal["stop", "length"] | None = None
    tokens: list[AnswerToken] | None = None


class BatchRequest(Request):
    """Questions, each checked alone as AnswerRequest, so that one bad item does not spoil the rest.

    Questions that name no version are answered from the same one.
    """

    questions: Annotated[list[JsonValue], Field(min_length=1, max_length=MAX_BATCH)]


class BatchResult(Response):
    """An answer or a problem: exactly one is set."""

    answer: Answer | None = None
    problem: Problem | None = None


class BatchResponse(Response):
    """The results in the order of the questions; it is their sequence, too."""

    results: list[BatchResult]

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, place: int) -> BatchResult:
        return self.results[place]

    def __iter__(self) -> Iterator[BatchResult]:  # type: ignore[override]  # in place of pairs of fields
        return iter(self.results)


class Gap(Response):
    """A line of the worklist.

    Attributes:
        line: The number of the line, which stays the same while the line exists.
        model: The model that was asked, "auto" for all.
        kind: "declined"; "uncovered" if facts of its thing are known, and none covers the question; "near" for an
            answer without the edit that the question is near to.
        count: Number of times that it was asked.
        last: Time at which it was asked last.
        thing: Name of the thing of which facts are known, as the question has it.
    """

    line: int
    question: str
    model: str
    kind: Literal["declined", "uncovered", "near"]
    count: int
    last: datetime
    thing: str = ""


class GapGroup(Response):
    """Lines that have a missing fact, or a thing, in common.

    Attributes:
        name: The question with "…" for the thing, or the name of the thing.
        members: The things, or the questions with "…" for the thing, the most asked first, the first of very many.
        n_members: Number of all members.
        count: Number of times that the questions were asked.
        lines: Numbers of the lines, the first of very many.
    """

    name: str
    members: list[str]
    n_members: int
    count: int
    lines: list[int]


class GapPage(Response):
    """Lines of the worklist.

    Attributes:
        gaps: The lines, the most asked first.
        total: Number of lines.
        days: Days for which a line is kept after its question was asked last; 0 where the service keeps none.
        facts: Missing facts of things of which others are known, the most asked first.
        things: These things, the most asked first.
    """

    gaps: list[Gap]
    total: int
    days: float
    facts: list[GapGroup] = Field(default_factory=list)
    things: list[GapGroup] = Field(default_factory=list)


class GapCheck(Response):
    """The result of asking lines again.

    Attributes:
        count: Number of lines that were asked again.
        gaps: Lines that are answered now, and are taken out.
    """

    count: int
    gaps: list[Gap]
