"""Values of Wikidata statements as text: which of them count, and how each type of value is said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from service.graph.formats.row import LeftOut, Refused
from service.graph.formats.text import clean

Value = tuple[str, str]  # its text, and its id where it is an item

_TIME = re.compile(r"([+-]?)(\d{1,12})-(0\d|1[0-2])-([0-2]\d|3[01])(?:T.*)?", re.ASCII)
_AMOUNT = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_ITEM = re.compile(r"Q[1-9]\d{0,18}", re.ASCII)
_DECADE, _YEAR, _MONTH, _DAY = 8, 9, 10, 11  # Wikidata's numbers for how exact a time is
_WIDEST_DEGREES = 360
_DIGITS = 6  # of a degree: ten centimetres on the ground


class Snaks:
    """left_out: counts what is fine but not taken."""

    def __init__(self, languages: tuple[str, ...], left_out: Counter[str]) -> None:
        self._languages = languages
        self._left_out = left_out
        self._said: dict[str, Callable[[Any], Value]] = {
            "wikibase-entityid": self._item,
            "string": lambda value: (clean("object", text_in(value)), ""),
            "time": self._time,
            "quantity": _quantity,
            "monolingualtext": self._monolingual,
            "globecoordinate": _coordinate,
        }

    def ranked(self, statements: list[Any]) -> Iterator[dict[str, Any]]:
        """The preferred ones where there are any, never a deprecated one."""
        known = [mapped(statement) for statement in statements]
        best = "preferred" if any(one.get("rank") == "preferred" for one in known) else "normal"
        for one in known:
            rank = one.get("rank", "normal")
            if rank == best:
                yield one
            else:
                self._left_out["deprecated" if rank == "deprecated" else "not_preferred"] += 1

    def value(self, snak: dict[str, Any]) -> Value:
        """Its text and id. Refused when it is not what its type promises, LeftOut when it is, but not taken."""
        if snak.get("snaktype") in ("novalue", "somevalue"):
            raise LeftOut("no_value")
        if snak.get("datatype") == "external-id":
            raise LeftOut("external_id")
        data = mapped(snak.get("datavalue"))
        said = self._said.get(str(data.get("type")))
        if said is None:
            if not data:
                raise Refused("the statement has no value", "syntax")
            raise LeftOut("other_type")
        return said(data.get("value"))

    def _item(self, value: Any) -> Value:
        held = mapped(value)
        if held.get("entity-type", "item") != "item":
            raise LeftOut("other_type")
        id = held.get("id") or f"Q{held.get('numeric-id')}"
        if not isinstance(id, str) or not _ITEM.fullmatch(id):
            raise Refused("the object is no item", "syntax")
        return "", id

    def _time(self, value: Any) -> Value:
        held = mapped(value)
        found, precision = _TIME.fullmatch(text_in(held.get("time"))), held.get("precision", _DAY)
        if found is None or not isinstance(precision, int):
            raise Refused("the object is no time", "syntax")
        if precision < _DECADE:
            raise LeftOut("coarse_time")
        return _date(found[1] == "-", int(found[2]), found[3], found[4], precision), ""

    def _monolingual(self, value: Any) -> Value:
        held = mapped(value)
        if text_in(held.get("language")).casefold() not in self._languages:
            raise LeftOut("other_language")
        return clean("object", text_in(held.get("text"))), ""


def _date(before_christ: bool, year: int, month: str, day: str, precision: int) -> str:
    """As exact as it is known: "44 BC", "1880s", "1889", "1889-03", "1889-03-31"."""
    era = " BC" if before_christ else ""
    if precision == _DECADE:
        return f"{year // 10 * 10}s{era}"
    if precision == _YEAR or month == "00":
        return f"{year}{era}"
    exact = precision >= _DAY and day != "00"
    return f"{year:04d}-{month}{f'-{day}' if exact else ''}{era}"


def _quantity(value: Any) -> Value:
    amount = text_in(mapped(value).get("amount"))
    if not _AMOUNT.fullmatch(amount):
        raise Refused("the object is no quantity", "syntax")
    return clean("object", amount.removeprefix("+")), ""


def _coordinate(value: Any) -> Value:
    held = mapped(value)
    return f"{_degrees(held.get('latitude'))}, {_degrees(held.get('longitude'))}", ""


def _degrees(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not -_WIDEST_DEGREES <= value <= _WIDEST_DEGREES:
        raise Refused("the object is no coordinate", "syntax")
    text = f"{round(value, _DIGITS) + 0.0:.{_DIGITS}f}"
    return text.rstrip("0").rstrip(".")


def text_in(value: Any) -> str:
    if not isinstance(value, str):
        raise Refused("there is no text where one belongs", "syntax")
    return value


def mapped(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
