"""The text of a cell of a workbook."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite

NO_DATE = "#DATE!"  # text of a cell with a date that workbooks cannot hold
FORMULA_ERROR = re.compile(r"#(?:DATE|REF|N/A|NAME|VALUE|DIV/0|NULL|NUM|SPILL|CALC)[!?]?", re.IGNORECASE)
# Characters as ECMA-376 (22.9.2.19) writes them
ESCAPES = re.compile(r"(?:_x[0-9A-Fa-f]{4}_)+")
DIGITS = 15  # decimal digits that every double holds
MAX_PLAIN_CHARS = 40  # characters of a number that is written without an exponent


def format_number(value: float) -> str:
    """Write a number with the digits that all doubles hold, and without an exponent unless it would be very long."""
    text = f"{value:.{DIGITS}g}"
    plain = f"{Decimal(text):f}" if isfinite(value) else text
    return plain if len(plain) <= MAX_PLAIN_CHARS else text


def to_text(value: object) -> str:
    """Return the text of a cell; README.md has the rule."""
    match value:
        case str():
            return ESCAPES.sub(_unescape, value).replace("\r\n", "\n").replace("\r", "\n")
        case None:
            return ""
        case bool():
            return str(value).upper()
        case float():
            return format_number(value)
        case datetime():
            return (
                f"{value:%Y-%m-%d}" if value.time() == time() else f"{value:%Y-%m-%d} {to_text(value.time())}"
            )
        case date():
            return value.isoformat()
        case time():
            return value.isoformat("seconds" if value.second else "minutes")
        case timedelta():
            minutes, seconds = divmod(round(value.total_seconds()), 60)
            return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
    return str(value)


def _unescape(run: re.Match[str]) -> str:
    """Return the characters of escapes, as of a carriage return that XML would take for a line end."""
    try:
        return bytes.fromhex(run[0].replace("_x", "").replace("_", "")).decode("utf-16-be")
    except UnicodeDecodeError:  # half a character
        return run[0]
