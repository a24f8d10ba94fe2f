"""Answers in OpenAI's two shapes, and errors as its clients know them."""

from __future__ import annotations

from typing import Any, Literal

from errata.wire import Answer, Response, TokenChance
from pydantic import Field, JsonValue


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
