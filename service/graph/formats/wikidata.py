"""Items and properties out of Wikidata's JSON dump: one entity on a line, the lines between `[` and `]`.

https://doc.wikimedia.org/Wikibase/master/php/docs_topics_json.html. What PHP writes of an empty map is an empty list.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from service.graph.formats.row import Code, Kind, Line, Read, Refused, Rejected, Row, Skipped
from service.graph.formats.text import ANY_LANGUAGE, clean, clean_relation, decoded, shown

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
        """Its text and id. Refused when it is not what its type promises, Skipped when it is, but not taken."""
        if snak.get("snaktype") in ("novalue", "somevalue"):
            raise Skipped("no_value")
        if snak.get("datatype") == "external-id":
            raise Skipped("external_id")
        data = mapped(snak.get("datavalue"))
        said = self._said.get(str(data.get("type")))
        if said is None:
            if not data:
                raise Refused("the statement has no value", "syntax")
            raise Skipped("other_type")
        return said(data.get("value"))

    def _item(self, value: Any) -> Value:
        held = mapped(value)
        if held.get("entity-type", "item") != "item":
            raise Skipped("other_type")
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
            raise Skipped("coarse_time")
        return _date(found[1] == "-", int(found[2]), found[3], found[4], precision), ""

    def _monolingual(self, value: Any) -> Value:
        held = mapped(value)
        if text_in(held.get("language")).casefold() not in self._languages:
            raise Skipped("other_language")
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


_ID = re.compile(r"[QP][1-9]\d{0,18}", re.ASCII)


class WikidataReader:
    most_bytes = 16_000_000

    def __init__(self, language: str) -> None:
        self.left_out: Counter[str] = Counter()
        self._languages = tuple(dict.fromkeys((language.casefold(), ANY_LANGUAGE)))
        self._snaks = Snaks(self._languages, self.left_out)

    def read(self, lines: Iterable[Line]) -> Iterator[Read]:
        for number, line in lines:
            try:
                entity = _entity(decoded(line))
            except Refused as refused:
                yield refused.at(number)
            else:
                if entity is not None:
                    yield from self._rows(entity, number)

    def end(self) -> Iterator[Read]:
        return iter(())

    def _rows(self, entity: dict[str, Any], line: int) -> Iterator[Read]:
        id = entity.get("id")
        if "redirect" in entity or "missing" in entity:
            self.left_out["redirect" if "redirect" in entity else "missing"] += 1
        elif not isinstance(id, str) or not id:
            yield Rejected(line, "the entity has no id", "syntax")
        elif entity.get("type", "item") not in ("item", "property"):
            self.left_out["other_entity"] += 1
        elif not _ID.fullmatch(id):
            yield Rejected(line, f"'{shown(id)}' is no id of an item or a property", "syntax")
        elif id.startswith("P"):
            self.left_out["about_relation"] += bool(mapped(entity.get("claims")))
            yield from self._label(entity, id, "relation_label", line)
        else:
            yield from self._names(entity, id, line)
            yield from self._facts(entity, id, line)

    def _names(self, entity: dict[str, Any], id: str, line: int) -> Iterator[Read]:
        yield from self._label(entity, id, "label", line)
        aliases = mapped(entity.get("aliases"))
        for alias in (one for language in self._languages for one in listed(aliases.get(language))):
            yield _named(id, "alias", mapped(alias), line)
        description = self._wanted(mapped(entity.get("descriptions")))
        if description is not None:
            yield _named(id, "description", description, line)

    def _label(self, entity: dict[str, Any], id: str, kind: Kind, line: int) -> Iterator[Read]:
        labels = mapped(entity.get("labels"))
        label = self._wanted(labels)
        if label is not None:
            yield _named(id, kind, label, line)
        elif labels:
            self.left_out["other_language"] += 1

    def _wanted(self, texts: dict[str, Any]) -> dict[str, Any] | None:
        return next((mapped(texts[tag]) for tag in self._languages if tag in texts), None)

    def _facts(self, entity: dict[str, Any], id: str, line: int) -> Iterator[Read]:
        for property, statements in mapped(entity.get("claims")).items():
            for statement in self._snaks.ranked(listed(statements)):
                try:
                    yield self._fact(id, property, statement, line)
                except Skipped as left_out:
                    self.left_out[left_out.why] += 1
                except Refused as refused:
                    yield _refused(refused, property, line)

    def _fact(self, id: str, property: str, statement: dict[str, Any], line: int) -> Row:
        text, object_id = self._snaks.value(mapped(statement.get("mainsnak")))
        return Row("fact", id, clean_relation(property), text, object_id, line, True)


def _entity(text: str) -> dict[str, Any] | None:
    """The entity of a line; None of a line that only opens or closes the list."""
    bare = text.strip().removesuffix(",").rstrip()
    if bare in ("", "[", "]", "[]"):
        return None
    if bare.startswith("["):
        bare = bare[1:].lstrip()
    if bare.endswith("]"):
        bare = bare[:-1].rstrip()
    try:
        found = json.loads(bare)
    except RecursionError as cause:
        raise Refused("no JSON that can be read: too many lists within one another", "syntax") from cause
    except ValueError as cause:
        code: Code = "control" if "control character" in str(cause) else "syntax"
        raise Refused(f"no JSON ({shown(str(cause))})", code) from cause
    if not isinstance(found, dict):
        raise Refused("no entity: a JSON object is expected", "syntax")
    return found


def _named(id: str, kind: Kind, text: dict[str, Any], line: int) -> Read:
    try:
        return Row(kind, id, "", clean(kind.replace("_", " "), text_in(text.get("value"))), "", line, True)
    except Refused as refused:
        return _refused(refused, id, line)


def _refused(refused: Refused, what: str, line: int) -> Rejected:
    """One bad value costs itself, not the entity."""
    return Rejected(line, f"{shown(what)}: {refused.reason}", refused.code)
