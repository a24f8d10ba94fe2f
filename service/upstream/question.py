"""Which question of a request an edit may answer, if any.

A request that asks for more than a text (a forced tool, a schema, sound, scores of tokens) has none; nor has one whose
last message is not a user's, or holds more than text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from errata.wire.texts import MAX_TEXT_CHARS

from service.upstream.text_field import find_text_field
from service.upstream.upstream import fold, squeeze

CHAT, COMPLETIONS, RESPONSES = "chat/completions", "completions", "responses"
Fields: TypeAlias = Mapping[str, Any]
# Field of a request -> the values besides null with which the answer is one plain text
PLAIN: Mapping[str, Mapping[str, Sequence[Any]]] = {
    CHAT: {
        "tool_choice": ("none", "auto"),
        "function_call": ("none", "auto"),
        "response_format": ({"type": "text"},),
        "modalities": (["text"],),
        "audio": (),
        "logprobs": (False,),
        "top_logprobs": (0,),
        "n": tuple(range(1, 9)),
    },
    COMPLETIONS: {
        "echo": (False,),
        "suffix": ("",),
        "logprobs": (),
        "best_of": (1,),
        "n": tuple(range(1, 9)),
    },
    RESPONSES: {
        "tool_choice": ("none", "auto"),
        "text": ({}, {"format": {"type": "text"}}),
        "background": (False,),
        "previous_response_id": (),
        "conversation": (),
        "prompt": (),
        "include": ([],),
    },
}
# Other fields that leave the answer one text; one that is not known may ask for another shape
HARMLESS = {
    "model",
    "messages",
    "input",
    "prompt",
    "instructions",
    "stream",
    "stream_options",
    "stop",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tool_calls",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "logit_bias",
    "user",
    "metadata",
    "store",
    "tools",
    "functions",
    "parallel_tool_calls",
    "reasoning",
    "reasoning_effort",
    "verbosity",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "truncation",
    "chat_template_kwargs",
}
LONGEST = 4 * MAX_TEXT_CHARS  # characters with spaces; a longer text is no question
LONGEST_PROMPT = 200_000  # characters of the system prompts that are compared with those kept out
LIMITS = ("max_tokens", "max_completion_tokens", "stop", "stream_options")  # fields that bound an answer
SYSTEM = ("system", "developer")
FORMATS = ("response_format", "text")  # fields with the format of a reply
TEXT_PARTS = ("text", "input_text")


@dataclass(frozen=True)
class AskedQuestion:
    text: str
    is_follow_up: bool  # whether a dialogue comes before it


def find_question(path: str, fields: Fields, keep_out: Sequence[str] = ()) -> AskedQuestion | None:
    """Return the question in the body of a request to `path` under /v1; None where no edit may answer.

    Args:
        keep_out: Texts, each of which a system prompt without edits has in it.
    """
    plain = PLAIN.get(path)
    values = {name: value for name, value in fields.items() if value is not None}
    if find_text_field(values) is not None:
        values = {name: value for name, value in values.items() if name not in FORMATS}
    if plain is None or any(
        values[name] not in plain[name] if name in plain else name not in HARMLESS for name in values
    ):
        return None
    if isinstance(values.get("n"), float | bool):
        return None
    if path == COMPLETIONS:
        return _read_line(fields.get("prompt"))
    messages = fields.get("messages" if path == CHAT else "input")
    if isinstance(messages, str) and path == RESPONSES:
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        return None
    prompts = [message.get("content") for message in messages if message.get("role") in SYSTEM]
    if keep_out and is_kept_out([*prompts, fields.get("instructions")], keep_out):
        return None
    rest = [message for message in messages if message.get("role") not in SYSTEM]
    if not rest or rest[-1] is not messages[-1] or rest[-1].get("role") != "user":
        return None
    if path == RESPONSES and len(messages) > 1 and fields.get("store") is not False:
        return None  # a stored response holds the dialogue, and the id of an edit's one question alone
    text = _read_text(rest[-1].get("content"))
    return AskedQuestion(fold(text), len(rest) > 1) if text and len(text) <= LONGEST else None


def is_kept_out(prompts: Sequence[Any], keep_out: Sequence[str]) -> bool:
    """Return whether one of the prompts is kept out; one that cannot be read is."""
    texts = ["" if content is None else _read_text(content) for content in prompts]
    if any(text is None for text in texts) or sum(len(text or "") for text in texts) > LONGEST_PROMPT:
        return True
    prompt = squeeze("".join(text or "" for text in texts))
    return any(text in prompt for text in keep_out)


def _read_line(prompt: Any) -> AskedQuestion | None:
    """Return a prompt that is one line and ends with a question mark, in any script."""
    line = prompt.strip() if isinstance(prompt, str) and len(prompt) <= LONGEST else ""
    if not line or len(line.splitlines()) > 1 or "QUESTION MARK" not in unicodedata.name(line[-1], ""):
        return None
    return AskedQuestion(line, is_follow_up=False)


def _read_text(content: Any) -> str | None:
    """Return the text of a message; None if it has other parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts: list[Any] = [
        part.get("text") if isinstance(part, dict) and part.get("type") in TEXT_PARTS else None
        for part in content
    ]
    return " ".join(texts) if all(isinstance(text, str) for text in texts) else None
