"""The bounds of texts, days and versions."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Annotated, Any, LiteralString

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

MAX_TEXT_CHARS = 2_000
FOUR_WEEKS_S = 28 * 86_400.0
LARGEST_VERSION = 2**53 - 1  # the largest integer that every JSON reader holds exactly
# Categories Cc, Zl, Zp, and invisible signs of Cf but joiners and a byte order mark: these can mislead a reader
CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
Version = Annotated[int, Field(ge=0, le=LARGEST_VERSION)]
CommitVersion = Annotated[int, Field(ge=1, le=LARGEST_VERSION)]
Details = dict[str, JsonValue]


def _check_printable(text: str) -> str:
    if not text.isprintable() and (control := CONTROL.search(text)):
        raise PydanticCustomError(
            "control_character",
            "has the control character U+{code} as character {place}: leave it out",
            {"code": f"{ord(control[0]):04X}", "place": control.start() + 1},
        )
    return text


def _check_lines(text: str) -> str:
    _check_printable(text.replace("\n", " "))
    return text


Printable = AfterValidator(_check_printable)
Text = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TEXT_CHARS),
    AfterValidator(_check_printable),
]
Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
    AfterValidator(_check_printable),
]
# A message may have line breaks, as git's messages do
Message = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=MAX_TEXT_CHARS), AfterValidator(_check_lines)
]


def _read_day(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return datetime.strptime(value, "%Y-%m-%d").date()
    except ValueError:
        raise PydanticCustomError("no_day", "is no day: write it as 2027-06-01") from None


Day = Annotated[date, BeforeValidator(_read_day)]


def check_name(pattern: str, rule: str) -> AfterValidator:
    """Return a validator that refuses, with the rule in words, a text that the pattern does not match as a whole."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(rule)
        return text

    return AfterValidator(check)


def say_instead(code: LiteralString, words: LiteralString) -> WrapValidator:
    """Return a validator whose one message stands for every mistake of a value."""

    def check(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        try:
            return validate(value)
        except ValidationError:
            raise PydanticCustomError(code, words) from None

    return WrapValidator(check)
