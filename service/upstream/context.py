"""Facts that curators have edited, put before a language model as one block; no other byte of the prompt changes.

The block ends the system prompt, whose beginning a server may keep computed, or is one if there is none: templates of
chats take one system prompt, as the first message.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from service.upstream.members import DECODER, ENCODING, Member, read_members
from service.upstream.question import CHAT, RESPONSES, SYSTEM

FIELDS = {CHAT: "messages", RESPONSES: "input"}  # members that hold a conversation, by the path
PERIOD = {"begin": "from", "end": "until", "time": "in"}  # fields of a fact with dates, and how they read
PREAMBLE = "These facts were corrected and hold, each with the id of its correction:"


def write_block(facts: Sequence[Mapping[str, Any]]) -> str:
    """Write facts as a model reads them: `- [id] subject: relation: object (from, until)`."""
    return "\n".join([PREAMBLE, *map(write_fact, facts)])


def add_block(path: str, body: bytes, block: str) -> bytes | None:
    """Return a body with the block in its conversation; None where it has no place for one."""
    text = body.decode(*ENCODING)
    conversation = [member for member in read_members(text) if member.name == FIELDS.get(path)]
    if not conversation or (change := find_change(text, conversation[-1], block)) is None:
        return None
    start, end, json_text = change
    return (text[:start] + json_text + text[end:]).encode(*ENCODING)


def find_change(text: str, conversation: Member, block: str) -> tuple[int, int, str] | None:
    """Return the places [start, end) in the text and the JSON that stands there afterwards."""
    messages, system = conversation.value, json.dumps({"role": "system", "content": block})
    if isinstance(messages, str):
        user = f'{{"role": "user", "content": {text[conversation.start : conversation.end]}}}'
        return conversation.start, conversation.end, f"[{system}, {user}]"
    if not isinstance(messages, list) or not messages or not isinstance(messages[0], dict):
        return None
    if messages[0].get("role") not in SYSTEM:
        return conversation.start + 1, conversation.start + 1, f"{system}, "
    first = text.index("{", conversation.start)
    _, end = DECODER.raw_decode(text, first)
    contents = [member for member in read_members(text[first:end]) if member.name == "content"]
    # The quote or bracket that ends the prompt
    place, addition = first + (contents[-1].end if contents else 0) - 1, json.dumps(f"\n\n{block}")
    match contents[-1].value if contents else None:
        case str(prompt) if prompt:
            return place, place, addition[1:-1]
        case [*_, {"type": ("text" | "input_text") as kind}]:
            return place, place, f', {{"type": "{kind}", "text": {addition}}}'
    return None


def write_fact(fact: Mapping[str, Any]) -> str:
    """Write one of the wire's `AnswerFact`s."""
    period = " ".join(f"{word} {fact[name]}" for name, word in PERIOD.items() if fact.get(name))
    return f"- [{fact['edit']}] {fact['subject']}: {fact['label']}: {fact['object']}" + (
        f" ({period})" if period else ""
    )
