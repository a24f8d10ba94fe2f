"""POST /v1/chat/completions: OpenAI's shape, so that clients of OpenAI can ask here.

Some of OpenAI's fields are honoured. Others have no effect on most systems, whose answers are not drawn at random, and
are ignored there. Unsupported fields that would change the meaning of an answer are refused, each with its reason.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue, StringConstraints, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from errata.wire.answers import (
    MAX_BATCH,
    MAX_CONTEXT_CHARS,
    MAX_LOGPROBS,
    MAX_SEED,
    MAX_TOKENS,
    Answer,
    Passages,
    Sampling,
    TokenChance,
)
from errata.wire.base import Name, Request, Response, Text, Version, say_instead

NO_TOOLS = "tools are never called here: leave it out"
NO_FORMAT = "an answer is plain text: leave it out, or send {allowed}"
# Field -> the values that it may have besides null, as JSON; and the complaint about any other
UNSUPPORTED: dict[str, tuple[tuple[str, ...], str]] = {
    "n": (("1",), "a question has one answer: leave it out or send 1; `errata.top_k` gives alternatives"),
    "tools": (("[]",), NO_TOOLS),
    "tool_choice": (('"none"', '"auto"'), NO_TOOLS),
    "functions": (("[]",), NO_TOOLS),
    "function_call": (('"none"', '"auto"'), NO_TOOLS),
    "response_format": (('{"type": "text"}',), NO_FORMAT.format(allowed='{"type": "text"}')),
    "modalities": (('["text"]',), NO_FORMAT.format(allowed='["text"]')),
    "audio": ((), "an answer is plain text: leave it out"),
    "logit_bias": (("{}",), "single tokens cannot be favoured here: leave it out"),
    "web_search_options": ((), "nothing is searched: an answer comes from the model's memory; leave it out"),
    "moderation": ((), "nothing is moderated here: leave it out"),
    "store": (("false",), "completions are not kept here: leave it out or send false"),
}

NO_QUESTION = "there is no message with the role `user`: the last of these is the question"
NO_TEXT = "the question may be a text, or parts like {{'type': 'text', 'text': '...'}}; part {place} is not"

Stop = Annotated[str, StringConstraints(min_length=1)]
StopRule = say_instead("no_stop", "has to be a text or a list of texts, of which none is empty")
Penalty = Annotated[float, Field(ge=-2, le=2)]
TokenLimit = Annotated[int, Field(ge=1)]


class ChatMessage(Request):
    """Only the question is read, so the other messages may hold anything."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: JsonValue = None

    @property
    def text(self) -> str:
        """The message in one line; prompts often have several. PydanticCustomError for a part that is no text."""
        only_part: JsonValue = {"type": "text", "text": self.content}
        parts = self.content if isinstance(self.content, list) else [only_part]
        text = " ".join(_text(place, part) for place, part in enumerate(parts))
        return text if len(text) > MAX_CONTEXT_CHARS else " ".join(text.split())  # too long in any case


def _text(place: int, part: JsonValue) -> str:
    match part:
        case {"type": "text", "text": str(text)}:
            return text
    raise PydanticCustomError("no_text", NO_TEXT.format(place=place))


class StreamOptions(Request):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    include_usage: bool = False


class ChatOptions(Request):
    """Fields of AnswerRequest that OpenAI lacks. In OpenAI's client: `extra_body={"errata": {...}}`.

    Attributes:
        decline_as: Field of the reply with the reason of a declined answer; None for the service's choice.
    """

    version: Version | None = None
    min_version: Version | None = None
    kg: Literal["graph", "none"] = "graph"
    context: Passages | None = None
    candidates: Annotated[list[Text], Field(min_length=1, max_length=MAX_BATCH)] | None = None
    top_k: Annotated[int, Field(ge=1, le=10)] = 1
    explain: bool = False
    decline_as: Literal["refusal", "content"] | None = None


class ChatRequest(Request):
    """A question: the last message of a user. Earlier messages and those of a system are not read.

    Limits of tokens count words and punctuation marks, as `usage` does, or the tokens of a model that writes freely.
    `temperature`, `top_p` and `seed` have an effect only on such a model; with a temperature and no seed each draw
    differs. Other models refuse `logprobs`. The other fields in the second part have no effect; those in the third are
    refused (`UNSUPPORTED`).
    """

    model: Name
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: TokenLimit | None = None
    max_completion_tokens: TokenLimit | None = None
    stop: Annotated[Stop | list[Stop], StopRule] | None = None
    errata: ChatOptions = ChatOptions()

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    seed: int | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=MAX_LOGPROBS)] | None = None
    frequency_penalty: Penalty | None = None
    presence_penalty: Penalty | None = None
    user: str | None = None
    metadata: dict[str, str] | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: JsonValue = None
    prompt_cache_retention: str | None = None
    prediction: JsonValue = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: str | None = None
    verbosity: str | None = None

    n: JsonValue = None
    tools: JsonValue = None
    tool_choice: JsonValue = None
    functions: JsonValue = None
    function_call: JsonValue = None
    response_format: JsonValue = None
    modalities: JsonValue = None
    audio: JsonValue = None
    logit_bias: JsonValue = None
    web_search_options: JsonValue = None
    moderation: JsonValue = None
    store: JsonValue = None

    @field_validator(*UNSUPPORTED)
    @classmethod
    def _refuse_unsupported(cls, value: JsonValue, info: ValidationInfo) -> JsonValue:
        allowed, why = UNSUPPORTED[str(info.field_name)]
        if value is None or json.dumps(value) in allowed:
            return value
        raise PydanticCustomError("cannot", "{why}", {"why": why})

    @field_validator("messages")
    @classmethod
    def _check_question(cls, messages: list[ChatMessage]) -> list[ChatMessage]:
        _question(messages)
        return messages

    @property
    def question(self) -> str:
        return _question(self.messages)

    @property
    def stops(self) -> list[str]:
        return [self.stop] if isinstance(self.stop, str) else self.stop or []

    @property
    def answer_limit(self) -> int | None:
        """The smaller of the two limits."""
        limits = [limit for limit in (self.max_tokens, self.max_completion_tokens) if limit is not None]
        return min(limits, default=None)

    @property
    def wants_draw(self) -> bool:
        """True if the request describes how the text of the answer is drawn."""
        return bool(self.temperature or self.stops or self.answer_limit or self.wants_tokens)

    @property
    def wants_tokens(self) -> bool:
        """True if the request asks for tokens with their log-probabilities."""
        return bool(self.logprobs or self.top_logprobs)

    def to_sampling(self, seed: int) -> Sampling:
        """Return the sampling of the answer; `seed` is used where the request has none."""
        return Sampling(
            temperature=self.temperature or 0.0,
            top_p=self.top_p or 1.0,
            seed=seed if self.seed is None else self.seed % (MAX_SEED + 1),
            max_tokens=None if self.answer_limit is None else min(self.answer_limit, MAX_TOKENS),
            stop=self.stops,
            logprobs=self.top_logprobs or 0 if self.wants_tokens else None,
        )

    @property
    def wants_usage(self) -> bool:
        """True if a stream should end with the usage; other responses always have it."""
        return self.stream_options is not None and self.stream_options.include_usage


def _question(messages: list[ChatMessage]) -> str:
    for message in reversed(messages):
        if message.role == "user":
            return message.text
    raise PydanticCustomError("no_question", NO_QUESTION)


class ChatUsage(Response):
    """Counts of words and punctuation marks in the question and in the answer, because tokens differ by system."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatReply(Response):
    """The answer, or the reason (`refusal`) when the model declines."""

    role: Literal["assistant"] = "assistant"
    content: str | None
    refusal: str | None


class TopLogprob(Response):
    token: str
    logprob: float
    bytes: list[int]


class TokenLogprob(TopLogprob):
    top_logprobs: list[TopLogprob]


class ChatLogprobs(Response):
    content: list[TokenLogprob]

    @staticmethod
    def of(answer: Answer) -> ChatLogprobs | None:
        """Return the tokens of an answer; None where it has none."""
        if answer.tokens is None:
            return None
        return ChatLogprobs(
            content=[
                TokenLogprob(
                    **_score(token), top_logprobs=[TopLogprob(**_score(other)) for other in token.top]
                )
                for token in answer.tokens
            ]
        )


def _score(token: TokenChance) -> dict[str, Any]:
    return {"token": token.text, "logprob": token.logprob, "bytes": list(token.text.encode())}


class ChatChoice(Response):
    index: int = 0
    message: ChatReply
    finish_reason: Literal["stop", "length"]
    logprobs: ChatLogprobs | None = None


class ChatCompletion(Response):
    """A completion. `errata` is the whole answer of POST /v1/answers, with version, edits, facts and score."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[ChatChoice]
    usage: ChatUsage
    errata: Answer


class ChatDelta(Response):
    role: Literal["assistant"] | None = None
    content: str | None = None
    refusal: str | None = None


class ChatChunkChoice(Response):
    index: int = 0
    delta: ChatDelta
    finish_reason: Literal["stop", "length"] | None = None
    logprobs: ChatLogprobs | None = None


class ChatChunk(Response):
    """One event of a stream. The one with the finish_reason has `errata`."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChatChunkChoice]
    usage: ChatUsage | None = None
    errata: Answer | None = None


class ChatProblem(Response):
    """A problem with the `code` of the other routes' problem documents, and the wrong field (`param`), if it is one."""

    message: str
    type: str
    param: str | None
    code: str


class ChatError(Response):
    error: ChatProblem
