"""Days in a text: dates in words and in figures have one spelling, as exact as they are (2010-06-12, 1988-03, 1975)."""

import re
from calendar import month_abbr, month_name
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter

MONTHS = {
    name.casefold(): number for names in (month_name, month_abbr) for number, name in enumerate(names) if name
}
MONTH = rf"({'|'.join(sorted(MONTHS, key=len, reverse=True))})\.?"
DAY, YEAR = r"(?:the )?(\d{1,2})(?:st|nd|rd|th)?", r"(\d{4})"
DAY_MONTH_YEAR = re.compile(rf"\b{DAY} (?:of )?{MONTH},? {YEAR}\b")
MONTH_DAY_YEAR = re.compile(rf"\b{MONTH} {DAY},? {YEAR}\b")
MONTH_YEAR = re.compile(rf"\b{MONTH},? (?:of )?{YEAR}\b")
AT = r"(?:in|on|during)(?: the(?: year)?)?"
# A year, a decade, a month or a day; a figure beside a sign, a currency or a unit is none
BEFORE, AFTER = r"(?<![\w.,:$€£/#+-])", r"(?![\w%/:-]|[.,]\d)"
DATE = re.compile(rf"{BEFORE}(1\d{{3}}|20\d\d)(-\d\d(?:-\d\d)?|s)?{AFTER}", re.ASCII)


def _alone(pattern: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(f"{BEFORE}(?:{pattern.pattern}){AFTER}")


@dataclass(frozen=True)
class DatedWords:
    """Words of a text that say a day, a month, a year or a decade."""

    start: int
    end: int
    day: str  # 2010-06-12, 1988-03, 1975 or 1970s


def spell_day(year: str, month: str, day: str) -> str:
    """Return a day as 2010-06-12; a month may be a name."""
    return f"{year}-{MONTHS.get(month, month)!s:0>2}-{int(day):02}"


SPELLINGS: list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]] = [
    (_alone(DAY_MONTH_YEAR), lambda match: spell_day(match[3], match[2], match[1])),
    (_alone(MONTH_DAY_YEAR), lambda match: spell_day(match[3], match[1], match[2])),
    (_alone(MONTH_YEAR), lambda match: f"{match[2]}-{MONTHS[match[1]]:02}"),
    (DATE, lambda match: match[0]),
]


def find_dates(text: str) -> list[DatedWords]:
    """Return the words of a text that say a time, in time linear in its length."""
    rest = text.lower() if len(text.lower()) == len(text) else text
    dates: list[DatedWords] = []
    for pattern, spell in SPELLINGS if any(map(str.isdigit, text)) else ():
        dates += [DatedWords(*match.span(), spell(match)) for match in pattern.finditer(rest)]
        rest = pattern.sub(lambda match: "-" * len(match[0]), rest)
    return dates


def find_day(text: str) -> str:
    """Return the one day, month, year or decade that a text names; "" if it names none or several."""
    return choose_day(find_dates(text))


def choose_day(dates: Iterable[DatedWords]) -> str:
    """Return the one day of all; "" if there is none or several."""
    days = {date.day for date in dates}
    return days.pop() if len(days) == 1 else ""


def without_day(text: str, day: str) -> str:
    """Return a text without a day that `find_day` found in it, nor the word that says "at this time"; without case."""
    if not day:
        return text
    text = text.casefold()
    for date in sorted(find_dates(text), key=attrgetter("start"), reverse=True):
        before = re.sub(rf"\b{AT} $", "", text[: date.start])
        text = before + text[date.end :].removeprefix(",")
    return text
