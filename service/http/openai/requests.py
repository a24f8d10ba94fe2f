"""Questions in OpenAI's two shapes: POST /v1/chat/completions and /v1/responses.

Some of OpenAI's fields are honoured. Others have no effect on most systems, whose answers are not drawn at random, and
are ignored there. Unsupported fields that would change the meaning of an answer are refused, each with its reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from errata import wire
from pydantic import Field, JsonValue, StringConstraints, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

NO_TOOLS = "tools are never called here: leave it out"
NO_FORMAT = "an answer is plain text: leave it out, or send {allowed}"
NOT_KEPT = "responses are not kept here: send the whole question"
NO_QUESTION = "there is no message with the role `user`: the last of these is the question"
NO_TEXT = "the question may be a text, or parts {shape}; part {place} is not"

# Field -> the values that it may have besides null, as JSON; and the complaint about any other
Refusals = Mapping[str, tuple[tuple[str, ...], str]]
TOOLS: Refusals = {"tools": (("[]",), NO_TOOLS), "tool_choice": (('"none"', '"auto"'), NO_TOOLS)}
OF_CHATS: Refusals = {
    **TOOLS,
    "n": (("1",), "a question has one answer: leave it out or send 1; `errata.top_k` gives alternatives"),
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
OF_RESPONSES: Refusals = {
    **TOOLS,
    "text": (('{"format": {"type": "text"}}', "{}"), "an answer is plain text: leave it out"),
    "background": (("false",), "an answer is given at once: leave it out or send false"),
    "previous_response_id": ((), NOT_KEPT),
    "conversation": ((), NOT_KEPT),
    "prompt": ((), "prompts are not kept here: send the question as `input`"),
}

Stop = Annotated[str, StringConstraints(min_length=1)]
StopRule = wire.say_instead("no_stop", "has to be a text or a list of texts, of which none is empty")
Penalty = Annotated[float, Field(ge=-2, le=2)]
TokenLimit = Annotated[int, Field(ge=1)]


def _join(parts: list[JsonValue], *kinds: str) -> str:
    """Join the texts of parts of these kinds; raise PydanticCustomError for another part."""
    texts = []
    for place, part in enumerate(parts):
        match part:
            case {"type": kind, "text": str(text)} if kind in kinds:
                texts.append(text)
            case _:
                shape = "of input_text" if len(kinds) > 1 else "like {{'type': 'text', 'text': '...'}}"
                raise PydanticCustomError("no_text", NO_TEXT.format(shape=shape, place=place))
    return " ".join(texts)


class ChatMessage(wire.Request, extra="ignore"):
    """Only the question is read, so the other messages may hold anything."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: JsonValue = None

    @property
    def text(self) -> str:
        """The message in one line; prompts often have several. PydanticCustomError for a part that is no text."""
        parts: list[JsonValue] = (
            self.content if isinstance(self.content, list) else [{"type": "text", "text": self.content}]
        )
        text = _join(parts, "text")
        return text if len(text) > wire.MAX_CONTEXT_CHARS else " ".join(text.split())  # too long in any case


class StreamOptions(wire.Request, extra="ignore"):
    include_usage: bool = False


class ChatOptions(wire.Request):
    """Fields of AnswerRequest that OpenAI lacks. In OpenAI's client: `extra_body={"errata": {...}}`."""

    version: wire.Version | None = None
    min_version: wire.Version | None = None
    as_of: wire.Day | None = None
    kg: Literal["graph", "none"] = "graph"
    context: wire.Passages | None = None
    candidates: Annotated[list[wire.Text], Field(min_length=1, max_length=wire.MAX_BATCH)] | None = None
    top_k: Annotated[int, Field(ge=1, le=10)] = 1
    explain: bool = False
    decline_as: Literal["refusal", "content"] | None = None
    """Field of the reply with the reason of a declined answer; None for the service's choice."""


class OpenAIRequest(wire.Request):
    """The base of both shapes, with the fields that both have; the second part has no effect, the third is refused."""

    unsupported: ClassVar[Refusals] = {}

    model: wire.Name
    stream: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    errata: ChatOptions = ChatOptions()

    metadata: dict[str, str] | None = None
    parallel_tool_calls: bool | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    user: str | None = None

    tools: JsonValue = None
    tool_choice: JsonValue = None

    @field_validator("*")
    @classmethod
    def _refuse_unsupported(cls, value: JsonValue, info: ValidationInfo) -> JsonValue:
        allowed, why = cls.unsupported.get(str(info.field_name), ((), ""))
        if not why or value is None or json.dumps(value) in allowed:
            return value
        raise PydanticCustomError("cannot", "{why}", {"why": why})


class ChatRequest(OpenAIRequest):
    """A question: the last message of a user. Earlier messages and those of a system are not read.

    Limits of tokens count words and punctuation marks, as `usage` does, or the tokens of a model that writes freely.
    `temperature`, `top_p` and `seed` have an effect only on such a model; with a temperature and no seed each draw
    differs. Other models refuse `logprobs`. The other fields in the second part have no effect; those in the third are
    refused, each with its reason.
    """

    unsupported = OF_CHATS

    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    stream_options: StreamOptions | None = None
    max_tokens: TokenLimit | None = None
    max_completion_tokens: TokenLimit | None = None
    stop: Annotated[Stop | list[Stop], StopRule] | None = None

    seed: int | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=wire.MAX_LOGPROBS)] | None = None
    frequency_penalty: Penalty | None = None
    presence_penalty: Penalty | None = None
    prompt_cache_options: JsonValue = None
    prediction: JsonValue = None
    reasoning_effort: str | None = None
    verbosity: str | None = None

    n: JsonValue = None
    functions: JsonValue = None
    function_call: JsonValue = None
    response_format: JsonValue = None
    modalities: JsonValue = None
    audio: JsonValue = None
    logit_bias: JsonValue = None
    web_search_options: JsonValue = None
    moderation: JsonValue = None
    store: JsonValue = None

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

    def to_sampling(self, seed: int) -> wire.Sampling:
        """Return the sampling of the answer; `seed` is used where the request has none."""
        return wire.Sampling(
            temperature=self.temperature or 0.0,
            top_p=self.top_p or 1.0,
            seed=seed if self.seed is None else self.seed % (wire.MAX_SEED + 1),
            max_tokens=None if self.answer_limit is None else min(self.answer_limit, wire.MAX_TOKENS),
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


class ResponseRequest(OpenAIRequest):
    """A question: the text `input`, or the last message of a user in it.

    Fields of the second part have no effect; those of the third are refused, each with its reason.
    """

    unsupported = OF_RESPONSES

    input: JsonValue
    max_output_tokens: TokenLimit | None = None

    instructions: JsonValue = None
    include: JsonValue = None
    max_tool_calls: int | None = None
    reasoning: JsonValue = None
    store: bool | None = None
    stream_options: JsonValue = None
    truncation: str | None = None

    text: JsonValue = None
    background: JsonValue = None
    previous_response_id: JsonValue = None
    conversation: JsonValue = None
    prompt: JsonValue = None

    @field_validator("input")
    @classmethod
    def _check_question(cls, value: JsonValue) -> JsonValue:
        _read_question(value)
        return value

    def to_chat(self) -> ChatRequest:
        """Return the same question as a chat."""
        return ChatRequest.model_validate(
            {
                "model": self.model,
                "messages": [{"role": "user", "content": _read_question(self.input)}],
                "stream": self.stream,
                "max_completion_tokens": self.max_output_tokens,
                "temperature": self.temperature,
                "top_p": self.top_p,
                "errata": self.errata,
            }
        )


def _read_question(value: JsonValue) -> str:
    """Return the text of the input; PydanticCustomError if it has none, or if a part of it is no text."""
    if isinstance(value, str):
        return value
    for item in reversed(value) if isinstance(value, list) else ():
        match item:
            case {"role": "user", "content": str(text)}:
                return text
            case {"role": "user", "content": list(parts)}:
                return _join(parts, "input_text", "text")
    raise PydanticCustomError("no_question", NO_QUESTION)
