"""Texts of other people on a terminal: nothing in them is a control sequence or markup."""

from __future__ import annotations

from pydantic import JsonValue

from errata.cli.render.drawing import T
from errata.wire.texts import CONTROL


def one_line(text: str) -> str:
    """Join the lines of a text that stands in one line of a drawing."""
    return " ".join(text.split())


def make_printable(value: T) -> T:
    """Return a value with visible control characters, so that an answer cannot steer the terminal."""
    return type(value).model_validate(_escape_all(value.model_dump(mode="json")))


def _escape_all(value: JsonValue, name: str = "") -> JsonValue:
    if isinstance(value, str):  # the message of a commit has lines, which are drawn as such
        return "\n".join(map(escape, value.split("\n"))) if name == "message" else escape(value)
    if isinstance(value, list):
        return [_escape_all(item) for item in value]
    if isinstance(value, dict):
        return {escape(name): _escape_all(item, name) for name, item in value.items()}
    return value


def escape(text: str) -> str:
    """Write control characters, line breaks and those that turn the direction of text as backslash codes."""
    return CONTROL.sub(lambda control: f"\\u{ord(control[0]):04x}", text)
