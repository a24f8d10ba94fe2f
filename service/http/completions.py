"""An answer as OpenAI's clients read it: whole, or in the chunks of a stream.

The model says all of an answer at once, so a stream has one chunk with all of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from time import time
from typing import Any, Literal
from uuid import uuid4

from errata.wire import Answer
from errata.wire.openai import (
    ChatChoice,
    ChatChunk,
    ChatChunkChoice,
    ChatCompletion,
    ChatDelta,
    ChatRequest,
    ChatSaid,
    ChatUsage,
)

COUNTED = re.compile(r"\s*(?:\w+|[^\w\s])")
"""A word or a punctuation mark. Tokens are each system's own, and none of them is known where HTTP is spoken."""

DECLINED = {
    "unsure": "The model is not sure enough to answer.",
    "no_entity": "The graph knows nothing that the question names.",
    "no_graph": "Without the graph there is nothing to read an answer from.",
    "no_fact": "No fact of the graph answers the question.",
}

Finish = Literal["stop", "length"]


def completion(asked: ChatRequest, answer: Answer) -> ChatCompletion:
    said, finish = _said(asked, answer)
    question, told = _count(asked.question), _count(said.content or said.refusal or "")
    return ChatCompletion(
        id=f"chatcmpl-{uuid4().hex}",
        created=int(time()),
        model=answer.model,
        choices=[ChatChoice(message=said, finish_reason=finish)],
        usage=ChatUsage(prompt_tokens=question, completion_tokens=told, total_tokens=question + told),
        errata=answer,
    )


def chunks(whole: ChatCompletion, wants_usage: bool) -> Iterator[ChatChunk]:
    """The role, the text, the end; with `wants_usage` a last one that has no choice and the usage."""
    [choice] = whole.choices
    for delta in _deltas(choice.message):
        yield _chunk(whole, wants_usage, choices=[_part(delta, None)])
    yield _chunk(whole, wants_usage, choices=[_part(ChatDelta(), choice.finish_reason)], errata=whole.errata)
    if wants_usage:
        yield _chunk(whole, wants_usage, choices=[], usage=whole.usage)


def _deltas(said: ChatSaid) -> Sequence[ChatDelta]:
    if said.content is None:
        return ChatDelta(role="assistant", refusal=""), ChatDelta(refusal=said.refusal)
    return ChatDelta(role="assistant", content=""), ChatDelta(content=said.content)


def _part(delta: ChatDelta, finish: Finish | None) -> ChatChunkChoice:
    return ChatChunkChoice(index=0, delta=delta, finish_reason=finish)


def _chunk(whole: ChatCompletion, wants_usage: bool, **content: Any) -> ChatChunk:
    """What is set is sent: no `usage` at all, but to those who want it, who find null until the last chunk."""
    usage = {"usage": None} if wants_usage else {}
    fixed = {
        "object": "chat.completion.chunk",
        "id": whole.id,
        "created": whole.created,
        "model": whole.model,
    }
    return ChatChunk.model_validate({**fixed, **usage, **content})


def _said(asked: ChatRequest, answer: Answer) -> tuple[ChatSaid, Finish]:
    if answer.answer is None:
        why = DECLINED.get(answer.reason or "", f"The model gives no answer: {answer.reason}.")
        return ChatSaid(content=None, refusal=why), "stop"
    text, finish = _cut(_until(answer.answer, asked.stops), asked.most)
    return ChatSaid(content=text, refusal=None), finish


def _until(text: str, stops: Sequence[str]) -> str:
    """What comes before the first of the stops."""
    return text[: min((text.index(stop) for stop in stops if stop in text), default=len(text))]


def _cut(text: str, most: int | None) -> tuple[str, Finish]:
    found = COUNTED.findall(text)
    if most is None or len(found) <= most:
        return text, "stop"
    return "".join(found[:most]), "length"


def _count(text: str) -> int:
    return len(COUNTED.findall(text))
