"""The format of numbers and times, the same in all output of the command."""

from __future__ import annotations

from datetime import UTC, datetime

from rich import filesize

MINUTE_S, HOUR_S, DAY_S, WEEK_S = 60, 3_600, 86_400, 604_800


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def figure(number: float) -> str:
    """Format a number of unknown meaning in four digits."""
    return f"{number:.0f}" if abs(number) >= 10_000 else f"{number:.4g}"


def milliseconds(ms: float) -> str:
    return f"{ms:.0f} ms" if ms < 10_000 else f"{ms / 1_000:.1f} s"


def seconds(s: float) -> str:
    """Format a duration in the precision that matters."""
    if s < 10:
        return f"{s:.1f} s"
    if s < 2 * MINUTE_S:
        return f"{s:.0f} s"
    minutes = round(s / MINUTE_S)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def megabytes(count: float) -> str:
    """Format bytes in decimal units: 1 MB is a million bytes."""
    return filesize.decimal(round(count))


def shorten(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1].rstrip()}…"


def short_digest(digest: str) -> str:
    """Return the beginning of a checksum, enough to compare by eye."""
    return digest.removeprefix("sha256:")[:12]


def age(time: datetime) -> str:
    """Format the time since a moment; after a week, its day."""
    passed_s = (datetime.now(UTC) - time).total_seconds()
    if passed_s < MINUTE_S:
        return "just now"
    if passed_s < HOUR_S:
        return f"{passed_s // MINUTE_S:.0f} min ago"
    if passed_s < DAY_S:
        return f"{passed_s // HOUR_S:.0f} h ago"
    if passed_s < WEEK_S:
        return f"{plural(int(passed_s // DAY_S), 'day')} ago"
    return f"{time.astimezone():%Y-%m-%d}"
