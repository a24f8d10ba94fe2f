"""POST /v1/responses: the other shape of OpenAI's clients, for a text that is answered by a text."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from errata.wire.answers import Answer
from errata.wire.base import Name, Request, Response
from errata.wire.openai.chat import NO_QUESTION, ChatOptions, ChatRequest, TokenLimit

NOT_KEPT = "responses are not kept here: send the whole question"
# Field -> the values that it may have besides null, as JSON; and the complaint about any other
UNSUPPORTED: dict[str, tuple[tuple[str, ...], str]] = {
    "tools": (("[]",), "tools are never called here: leave it out"),
    "tool_choice": (('"none"', '"auto"'), "tools are never called here: leave it out"),
    "text": (('{"format": {"type": "text"}}', "{}"), "an answer is plain text: leave it out"),
    "background": (("false",), "an answer is given at once: leave it out or send false"),
    "previous_response_id": ((), NOT_KEPT),
    "conversation": ((), NOT_KEPT),
    "prompt": ((), "prompts are not kept here: send the question as `input`"),
}


class ResponseRequest(Request):
    """A question: the text `input`, or the last message of a user in it.

    Fields of the second part have no effect; those of the third are refused (`UNSUPPORTED`).
    """

    model: Name
    input: JsonValue
    stream: bool | None = None
    max_output_tokens: TokenLimit | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    errata: ChatOptions = ChatOptions()

    instructions: JsonValue = None
    include: JsonValue = None
    metadata: dict[str, str] | None = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: int | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    reasoning: JsonValue = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    store: bool | None = None
    stream_options: JsonValue = None
    truncation: str | None = None
    user: str | None = None

    tools: JsonValue = None
    tool_choice: JsonValue = None
    text: JsonValue = None
    background: JsonValue = None
    previous_response_id: JsonValue = None
    conversation: JsonValue = None
    prompt: JsonValue = None

    @field_validator(*UNSUPPORTED)
    @classmethod
    def _refuse_unsupported(cls, value: JsonValue, info: ValidationInfo) -> JsonValue:
        allowed, why = UNSUPPORTED[str(info.field_name)]
        if value is None or json.dumps(value) in allowed:
            return value
        raise PydanticCustomError("cannot", "{why}", {"why": why})

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
                return " ".join(_read_part(place, part) for place, part in enumerate(parts))
    raise PydanticCustomError("no_question", NO_QUESTION)


def _read_part(place: int, part: JsonValue) -> str:
    match part:
        case {"type": "input_text" | "text", "text": str(text)}:
            return text
    raise PydanticCustomError(
        "no_text", f"the question may be a text, or parts of input_text; part {place} is not"
    )


class ResponsePart(Response):
    """The answer as `output_text`, or the reason of a declined one as `refusal`."""

    type: Literal["output_text", "refusal"]
    text: str | None = None
    refusal: str | None = None
    annotations: list[JsonValue] | None = None
    logprobs: list[JsonValue] | None = None


class ResponseMessage(Response):
    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    status: Literal["in_progress", "completed", "incomplete"]
    content: list[ResponsePart]


class ResponseUsage(Response):
    """Counts of words and punctuation marks, because tokens differ by system."""

    input_tokens: int
    input_tokens_details: dict[str, int]
    output_tokens: int
    output_tokens_details: dict[str, int]
    total_tokens: int


class ResponseObject(Response):
    """A response. `errata` is the whole answer of POST /v1/answers, with version, edits, facts and score."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    status: Literal["in_progress", "completed", "incomplete", "failed"]
    model: str
    output: list[ResponseMessage]
    parallel_tool_calls: bool = False
    tool_choice: Literal["none"] = "none"
    tools: list[JsonValue] = Field(default_factory=list)
    incomplete_details: dict[str, str] | None = None
    error: dict[str, Any] | None = None
    usage: ResponseUsage | None = None
    errata: Answer | None = None
