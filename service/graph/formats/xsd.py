"""Datatypes of XML Schema, as literals of RDF have them."""

from __future__ import annotations

import re

XSD = "http://www.w3.org/2001/XMLSchema#"
DATES = {XSD + name for name in ("date", "dateTime", "dateTimeStamp", "gYear", "gYearMonth")}
NUMBERS = {
    XSD + name for name in ("integer", "decimal", "double", "float", "int", "long", "short", "byte")
} | {XSD + name for name in ("nonNegativeInteger", "positiveInteger", "unsignedInt", "unsignedLong")}
# Year, the rest of the date, a time of day that is not midnight, and a zone
DATE = re.compile(r"(-?\d{4,12})((?:-\d\d){0,2})(?:T(\d\d:\d\d:\d\d)(\.\d+)?)?(Z|[+-]\d\d:\d\d)?", re.ASCII)
DOUBLES = {XSD + "double", XSD + "float"}
INTEGER, DECIMAL = re.compile(r"[+-]?\d+"), re.compile(r"[+-]?(\d+\.?\d*|\.\d+)")
DOUBLE = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+")


def to_calendar(text: str) -> str:
    """Write a date as it is spoken of: "44 BC" for the year -43 of XSD 1.1, with a time of day that is not midnight."""
    match = DATE.fullmatch(text)
    if match is None:
        return text
    number, rest, clock = int(match[1]), match[2], match[3]
    year, era = (number, "") if number > 0 else (1 - number, " BC")
    day = f"{year:04d}{rest}{era}" if rest else f"{year}{era}"
    has_clock = clock is not None and (clock, (match[4] or "").strip(".0")) != ("00:00:00", "")
    return f"{day} {clock}{match[4] or ''}{match[5] or ''}" if has_clock else day
