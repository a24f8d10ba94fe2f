"""The members of a JSON object with their places in its text, so that one is replaced and every other byte is kept."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed leaves it out
from typing import Any

DECODER = json.JSONDecoder(strict=False)
SPACE = re.compile(r"[ \t\n\r\ufeff]*")
ENCODING = "utf-8", "surrogateescape"  # any bytes come back as they were


@dataclass(frozen=True)
class Member:
    name: str
    value: Any
    start: int  # place of the value's first character
    end: int  # place behind its last one


def read_members(text: str) -> list[Member]:
    """Read the members of the object that a text is, in their order; raise ValueError if it is none."""
    members: list[Member] = []
    place = _expect(text, 0, "{")
    while text[place : place + 1] != "}":
        if members:
            place = _expect(text, place, ",")
        name, place = scanstring(text, _expect(text, place, '"', skip=False), False)
        start = _expect(text, place, ":")
        try:
            value, end = DECODER.raw_decode(text, start)
        except RecursionError as error:
            raise ValueError("the JSON is nested too deeply") from error
        members.append(Member(name, value, start, end))
        place = _skip(text, end)
    if text[place + 1 :].strip():
        raise ValueError("there is more behind the object")
    return members


def replace_value(text: str, member: Member, value: str) -> bytes:
    """Return the bytes of a text in which a member has another text as its value."""
    return (text[: member.start] + json.dumps(value) + text[member.end :]).encode(*ENCODING)


def _expect(text: str, place: int, sign: str, skip: bool = True) -> int:
    """Return the place behind a sign, and with `skip` behind the space that follows it."""
    place = _skip(text, place)
    if not text.startswith(sign, place):
        raise ValueError(f"{sign!r} is missing at {place}")
    return _skip(text, place + 1) if skip else place + 1


def _skip(text: str, place: int) -> int:
    space = SPACE.match(text, place)
    assert space is not None, "it may be empty"
    return space.end()
