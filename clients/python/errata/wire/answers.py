"""Questions and answers, and the worklist of questions that were not answered well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError, PydanticKnownError

from errata.wire.base import Request, Response
from errata.wire.problems import Problem
from errata.wire.texts import CommitVersion, Day, Details, Name, Text, Version

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
    """The way an answer's text is drawn, for models that write freely. The answer is given at any score."""

    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    """0 takes the likeliest token."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Draw from the likeliest tokens that have this share of the probability."""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    """Another seed gives another draw."""
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS)] | None = None
    """Limit in the model's tokens."""
    stop: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MAX_STOP_CHARS)]], Field(max_length=MAX_STOPS)
    ] = Field(default_factory=list)
    """The answer ends before the first of these."""
    logprobs: Annotated[int, Field(ge=0, le=MAX_LOGPROBS)] | None = None
    """Return the tokens, each with this number of the likeliest ones in its place."""


class AnswerRequest(Request):
    """A question."""

    question: Text
    model: Name | None = None
    """"auto" asks all models that can read the question, and the surest answers; None is the service's
    choice."""
    context: Passages | None = None
    """A text in which the answer may stand, or several, for models that read one; the answer has its `place`."""
    candidates: Annotated[list[Text], Field(min_length=1, max_length=MAX_BATCH)] | None = None
    document: Name | None = None
    """A document that the question is about, for models that read documents."""
    kg: Literal["graph", "none"] = "graph"
    """"none" answers without the graph, for systems that read it."""
    version: Version | None = None
    """Read exactly this version, which may not be older than `min_version`."""
    as_of: Day | None = None
    """The day on which the facts of an answer are current; None is today."""
    min_version: Version | None = None
    """Wait until the replica has at least this version."""
    top_k: Annotated[int, Field(ge=1, le=10)] = 1
    explain: bool = False
    stream: bool = False
    sampling: Sampling | None = None
    """The way the text is drawn, for models that write freely; the answer is given at any score."""

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


class Qualifiers(Response):
    """The period of a fact (`time` is a point in time), its unit, its rank, and its source."""

    begin: str = ""
    """The first date at which the fact holds, "" where nothing says one; `time` is a point in time."""
    end: str = ""
    """The last date at which the fact holds, "" where nothing says one."""
    time: str = ""
    unit: str = ""
    """The unit of its number, which stands in `object`, too: a text, or the id of an entity."""
    rank: str = ""
    """"preferred", or "" for a normal one."""
    source: str = ""
    """The graph of a file that says it, "" for the file itself or an edit without one."""


class Fact(Qualifiers):
    """A fact of the graph."""

    relation: str
    label: str
    """The relation in words."""
    object: str
    edit: str = ""
    """The edit or import that wrote the fact, "" for the base."""
    unlabelled: bool = False
    """Whether the object is called by its identifier, because no label of it is known at the version."""


class AnswerFact(Fact):
    """A triple that an answer rests on, with the id of its subject (`entity`)."""

    entity: str
    subject: str
    object_id: str = ""
    """The identifier of the object where no label of it is known, so that one can be given to it."""


class Place(Response):
    """The place of an answer in the text that it was read from."""

    passage: int
    """Number of the text among those of the question's context, from 0; 0 in a document."""
    start: int
    """Its first character there."""
    end: int
    """The character behind it."""


class Timings(Response):
    """Times of a question, in milliseconds."""

    queue_ms: float
    """Milliseconds of waiting for other questions."""
    graph_ms: float
    """Milliseconds of reading the graph."""
    model_ms: float
    """Milliseconds of the model."""
    total_ms: float
    """Milliseconds from the question's arrival at the replica to its answer."""


class AnswerDelta(Response):
    """A part of an unfinished answer, the event `delta` of a stream."""

    text: str
    """The next part of the answer."""
    progress: Details | None = None
    """Figures of systems that read before they write; "auto" counts the systems that have replied."""


class NearbyEdit(Response):
    """An edit that the question may ask for, but not surely enough for its answer."""

    edit: str
    question: str
    """The wording of the edit that is near."""
    probability: float
    """How likely both ask for the same."""


class TokenChance(Response):
    """A token, and its log-probability at temperature 1."""

    text: str
    logprob: float


class AnswerToken(TokenChance):
    """A token of a drawn answer, with the likeliest tokens in its place (`top`)."""

    top: list[TokenChance]


class Answer(Response):
    """An answer."""

    answer: str | None
    """None when the model declines; then `reason` is the code, `reason_text` the words, and `best` the answer
    that it was not sure enough of."""
    reason: str | None = None
    reason_text: str | None = None
    score: float
    best: str
    alternatives: list[Alternative]
    """Further answers, the likeliest first."""
    model: str
    version: Version
    as_of: str = ""
    """The day on which its facts are current: the same version and day give the same answer."""
    edits: list[str]
    """Ids of the edits that the answer rests on."""
    edited_in: CommitVersion | None = None
    """The version that made the newest of them."""
    facts: list[AnswerFact]
    """Facts of the graph that it rests on."""
    place: Place | None = None
    """Where it stands in the context or the document that it was read from."""
    nearby_edit: NearbyEdit | None = None
    """An edit that the question may have meant."""
    timings: Timings
    truncated: bool = False
    """True if the question was longer than the model reads."""
    degraded: str | None = None
    """Code of the problem for which the version may be old (`ledger_unavailable`), else None."""
    away: list[str] = Field(default_factory=list)
    """Systems whose replies "auto" lacks because they failed or are being started again."""
    replica: str
    explanation: Details | None = None
    """What the model went by, in the model's own form."""
    finish: Literal["stop", "length"] | None = None
    """"stop" for a drawn answer that ended by itself or before a stop, "length" for one at its limit."""
    tokens: list[AnswerToken] | None = None
    """The tokens of a drawn answer, where `logprobs` asks for them."""
    upstream: str = ""
    """The upstream whose model gave the answer, which has no score then; "" for an edit's answer, and for ours."""


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
