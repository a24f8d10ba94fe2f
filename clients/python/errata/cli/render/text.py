"""How the command says numbers, times and answers, the same in every table."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import JsonValue
from rich.text import Text

from errata.wire import Response

T = TypeVar("T", bound=Response)

TURNS_TEXT_ROUND = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
MINUTE_S, HOUR_S, DAY_S, WEEK_S = 60, 3_600, 86_400, 604_800


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def milliseconds(ms: float) -> str:
    return f"{ms:.0f} ms" if ms < 10_000 else f"{ms / 1_000:.1f} s"


def cut(text: str, letters: int) -> str:
    """As much as has room."""
    return text if len(text) <= letters else f"{text[: letters - 1].rstrip()}…"


def short(digest: str) -> str:
    """Enough of a checksum to compare by eye."""
    return digest.removeprefix("sha256:")[:12]


def ago(time: datetime, now: datetime) -> str:
    """How long ago, as long as that is easy to grasp; then the day."""
    passed_s = (now - time).total_seconds()
    if passed_s < MINUTE_S:
        return "just now"
    if passed_s < HOUR_S:
        return f"{passed_s // MINUTE_S:.0f} min ago"
    if passed_s < DAY_S:
        return f"{passed_s // HOUR_S:.0f} h ago"
    if passed_s < WEEK_S:
        return f"{plural(int(passed_s // DAY_S), 'day')} ago"
    return f"{time.astimezone():%Y-%m-%d}"


def now() -> datetime:
    return datetime.now(UTC)


def said(answer: str | None) -> Text:
    """An answer, or that there is none."""
    return Text("not sure", style="italic dim") if answer is None else Text(answer)


def became(before: str | None, after: str | None) -> Text:
    return Text.assemble(said(before), (" → ", "dim"), said(after))


def printable(value: T) -> T:
    """The same with control characters made visible, so that an answer cannot steer the terminal."""
    return type(value).model_validate(_visible(value.model_dump(mode="json")))


def visible(text: str) -> str:
    return "".join(_shown(letter) for letter in text)


def _visible(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [_visible(item) for item in value]
    if isinstance(value, dict):
        return {visible(name): _visible(item) for name, item in value.items()}
    return value


def _shown(letter: str) -> str:
    if letter in "\n\t" or (unicodedata.category(letter) != "Cc" and letter not in TURNS_TEXT_ROUND):
        return letter
    return f"\\u{ord(letter):04x}"


def one_line(text: str) -> str:
    """For a place where a line break would tear a drawing apart."""
    return " ".join(text.split())


def megabytes(count: float) -> str:
    """Bytes as disks are sold: 1 MB is a million of them."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"


def seconds(s: float) -> str:
    """A length of time, as finely as it matters."""
    if s < 10:
        return f"{s:.1f} s"
    if s < 2 * MINUTE_S:
        return f"{s:.0f} s"
    minutes = round(s / MINUTE_S)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"
