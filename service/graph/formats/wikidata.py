"""Items and properties from Wikidata's JSON dump: one entity on a line, the lines between `[` and `]`.

https://doc.wikimedia.org/Wikibase/master/php/docs_topics_json.html. PHP writes an empty map as an empty list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice, pairwise, starmap, zip_longest
from typing import Any

from models.graph.periods import BEST, DEPRECATED, UNKNOWN, find_bounds, is_reversed
from service.graph.formats.base import Reader
from service.graph.formats.cleaning import clean, clean_id, clean_relation, decode, excerpt, plain_number
from service.graph.formats.ntriples import id_of
from service.graph.formats.row import (
    Code,
    GraphFileError,
    Kind,
    Line,
    LongLine,
    Refused,
    Rejection,
    Result,
    Row,
    Skipped,
)
from service.graph.formats.wikidata_rest import as_dict, as_list, to_dump

Value = tuple[str, str]  # text of a value, and its id if it is an item

_BEGIN, _END, _POINT = "P580", "P582", "P585"  # properties of begin, end and point in time
_PART = "P518"  # the part that a statement is about
_ID = re.compile(r"[QP][1-9]\d{0,18}", re.ASCII)
_TIME = re.compile(r"([+-]?)(\d{1,12})-(0\d|1[0-2])-([0-2]\d|3[01])(?:T.*)?", re.ASCII)
_AMOUNT = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_ITEM = re.compile(r"Q[1-9]\d{0,18}", re.ASCII)
_DECADE, _YEAR, _MONTH, _DAY = 8, 9, 10, 11  # Wikidata's numbers for how exact a time is
_MAX_DEGREES = 360
_DECIMALS = 6  # decimals of a degree: ten centimetres on the ground
_HEAD_LINES = 8  # lines at the beginning, of which a JSON text over several lines has no entity on one


class WikidataReader(Reader):
    max_line_bytes = 16_000_000

    def read(self, lines: Iterable[Line]) -> Iterator[Result]:
        """Read a dump, or one JSON text over several lines, as programs write it that indent."""
        rest = iter(lines)
        head = list(islice(rest, _HEAD_LINES))
        if head and not any(_stands_alone(line) for _, line in head):
            pieces, n_bytes = list[bytes](), 0
            for _, line in chain(head, rest):
                n_bytes += self.max_line_bytes + 1 if isinstance(line, LongLine) else len(line)
                if n_bytes > self.max_line_bytes:
                    raise GraphFileError(
                        f"a JSON text of several lines may have {self.max_line_bytes:,} bytes"
                    )
                pieces.append(bytes(line))
            head = [(head[0][0], b" ".join(pieces))]
        yield from super().read(chain(head, rest))

    def read_line(self, text: str, line: int) -> Iterator[Result]:
        for content in _parse(text):
            entities = as_dict(content["entities"]).values() if "entities" in content else [content]
            for entity in entities:
                yield from self._entity(to_dump(as_dict(entity)), line)

    def _entity(self, entity: dict[str, Any], line: int) -> Iterator[Result]:
        id = entity.get("id")
        if "redirect" in entity or "missing" in entity:
            self.skipped["redirect" if "redirect" in entity else "missing"] += 1
        elif not isinstance(id, str) or not id:
            yield Rejection(line, "the entity has no id", "syntax")
        elif entity.get("type", "item") not in ("item", "property"):
            self.skipped["other_entity"] += 1
        elif not _ID.fullmatch(id):
            yield Rejection(line, f"'{excerpt(id)}' is no id of an item or a property", "syntax")
        elif id.startswith("P"):
            self.skipped["about_relation"] += bool(as_dict(entity.get("claims")))
            yield from self._label(entity, id, "relation_label", line)
        else:
            yield from self._label(entity, id, "label", line)
            aliases = as_dict(entity.get("aliases"))
            for alias in (alias for tag in self._list_tags(aliases) for alias in as_list(aliases[tag])):
                yield _name(id, "alias", as_dict(alias), line)
            description = self._in_language(as_dict(entity.get("descriptions")))
            if description is not None:
                yield _name(id, "description", description, line)
            yield from self._facts(entity, id, line)

    def _label(self, entity: dict[str, Any], id: str, kind: Kind, line: int) -> Iterator[Result]:
        labels = as_dict(entity.get("labels"))
        label = self._in_language(labels)
        if label is not None:
            yield _name(id, kind, label, line)
        elif labels:
            self.skipped["other_language"] += 1

    def _in_language(self, texts: dict[str, Any]) -> dict[str, Any] | None:
        return next((as_dict(texts[tag]) for tag in self._list_tags(texts)), None)

    def _list_tags(self, texts: dict[str, Any]) -> list[str]:
        """List the tags of the texts that are taken, those of a region or script last."""
        near = [tag for tag in texts if tag not in self.languages and self.is_near(tag)]
        return [*(tag for tag in self.languages if tag in texts), *near]

    def _facts(self, entity: dict[str, Any], id: str, line: int) -> Iterator[Result]:
        """Yield the facts of all statements but the deprecated ones, with what qualifies them."""
        for property, statements in as_dict(entity.get("claims")).items():
            for statement in map(as_dict, as_list(statements)):
                rank = statement.get("rank", "normal")
                if rank == DEPRECATED:
                    self.skipped[DEPRECATED] += 1
                    continue
                try:
                    if _PART in (details := as_dict(statement.get("qualifiers"))):
                        raise Skipped("about_part")
                    text, object_id = self._value(as_dict(statement.get("mainsnak")))
                    row = Row("fact", id, clean_relation(property), text, object_id, line, True)
                    unit = find_unit(as_dict(as_dict(statement.get("mainsnak")).get("datavalue")))
                    for period in list_periods(details):
                        qualifiers = *period, unit, BEST * (rank == BEST)
                        yield row._replace(qualifiers=qualifiers) if any(qualifiers) else row
                except Skipped as skipped:
                    self.skipped[skipped.why] += 1
                except Refused as refused:
                    yield _rejection(refused, property, line)

    def _value(self, snak: dict[str, Any]) -> Value:
        if snak.get("snaktype") in ("novalue", "somevalue"):
            raise Skipped("no_value")
        if snak.get("datatype") == "external-id":
            raise Skipped("external_id")
        data = as_dict(snak.get("datavalue"))
        value, fields = data.get("value"), as_dict(data.get("value"))
        match str(data.get("type")):
            case "wikibase-entityid":
                if fields.get("entity-type", "item") != "item":
                    raise Skipped("other_type")
                id = fields.get("id") or f"Q{fields.get('numeric-id')}"
                if not isinstance(id, str) or not _ITEM.fullmatch(id):
                    raise Refused("the object is no item", "syntax")
                return "", id
            case "string":
                return clean("object", _text(value)), ""
            case "time":
                return _time(fields), ""
            case "quantity":
                amount = _text(fields.get("amount"))
                if not _AMOUNT.fullmatch(amount):
                    raise Refused("the object is no quantity", "syntax")
                return clean("object", plain_number(amount)), ""
            case "monolingualtext":
                tag = _text(fields.get("language"))
                if tag.casefold() not in self.languages and not self.is_near(tag):
                    raise Skipped("other_language")
                return clean("object", _text(fields.get("text"))), ""
            case "globecoordinate":
                return f"{_degrees(fields.get('latitude'))}, {_degrees(fields.get('longitude'))}", ""
        if not data:
            raise Refused("the statement has no value", "syntax")
        raise Skipped("other_type")


def _stands_alone(line: bytes | LongLine) -> bool:
    """Return whether a line has whole entities, as in a dump, or is too long to tell."""
    try:
        return bool(_parse(decode(line)))
    except Refused as refused:
        return refused.code == "too_long"


def _parse(text: str) -> list[dict[str, Any]]:
    """Parse the entities of a line, which may also open or close the list."""
    bare = text.strip().removesuffix(",").rstrip().removeprefix("[").removesuffix("]")
    try:
        entities: list[Any] = json.loads(f"[{bare}]")
    except RecursionError as cause:
        raise Refused("no JSON that can be read: too many lists within one another", "syntax") from cause
    except ValueError as cause:
        code: Code = "control" if "control character" in str(cause) else "syntax"
        raise Refused(f"no JSON ({excerpt(str(cause))})", code) from cause
    if not all(isinstance(entity, dict) for entity in entities):
        raise Refused("no entity: a JSON object is expected", "syntax")
    return entities


def _name(id: str, kind: Kind, text: dict[str, Any], line: int) -> Result:
    try:
        return Row(kind, id, "", clean(kind.replace("_", " "), _text(text.get("value"))), "", line, True)
    except Refused as refused:
        return _rejection(refused, id, line)


def _rejection(refused: Refused, place: str, line: int) -> Rejection:
    """Reject one bad value and keep the rest of its entity."""
    return Rejection(line, f"{excerpt(place)}: {refused.reason}", refused.code)


def _time(fields: dict[str, Any]) -> str:
    """Write a time as exactly as it is known: "44 BC", "1880s", "1889", "1889-03", "1889-03-31"."""
    match, precision = _TIME.fullmatch(_text(fields.get("time"))), fields.get("precision", _DAY)
    if match is None or not isinstance(precision, int):
        raise Refused("the object is no time", "syntax")
    if precision < _DECADE:
        raise Skipped("coarse_time")
    sign, year, month, day = match[1], int(match[2]), match[3], match[4]
    era = " BC" if sign == "-" else ""
    if precision == _DECADE:
        return f"{year // 10 * 10}s{era}"
    if precision == _YEAR or month == "00":
        return f"{year}{era}"
    exact = precision >= _DAY and day != "00"
    return f"{year:04d}-{month}{f'-{day}' if exact else ''}{era}"


def list_periods(qualifiers: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return begin, end and point in time of each period of a statement, "" for what it does not say.

    Several begins and ends are of several periods if each end lies between its begin and the next one.
    """
    begins, ends, points = (
        [_date(as_dict(snak)) for snak in as_list(qualifiers.get(id))] for id in (_BEGIN, _END, _POINT)
    )
    first = next(iter(begins), ""), next(iter(ends), ""), next(iter(points), "")
    periods = list(zip_longest(*map(_in_order, (begins, ends)), fillvalue=""))
    dates = list(filter(None, chain.from_iterable(periods)))
    n_open = len(begins) - len(ends)
    if n_open not in (0, 1) or any(starmap(is_reversed, pairwise(dates))):
        has_begun_again = n_open > 0 and all(is_reversed(periods[-1][0], end) for end in ends)
        return [first, (periods[-1][0], "", first[2])] if has_begun_again else [first]
    return [(begin, end, first[2]) for begin, end in periods] or [first]


def _in_order(dates: list[str]) -> list[str]:
    bounds = {date: find_bounds(date) for date in dates}
    return sorted(dates, key=lambda date: bounds[date] or ()) if all(bounds.values()) else dates


def find_unit(data: dict[str, Any]) -> str:
    """Return the id of the unit of a quantity, "" for a number without one and for other values."""
    unit = as_dict(data.get("value")).get("unit") if data.get("type") == "quantity" else None
    return clean_id("unit", id_of(unit)) if isinstance(unit, str) and unit not in ("", "1") else ""


def _date(snak: dict[str, Any]) -> str:
    if snak.get("snaktype") == "somevalue":
        return UNKNOWN
    fields = as_dict(as_dict(snak.get("datavalue")).get("value"))
    try:
        return _time(fields) if snak.get("snaktype", "value") == "value" else ""
    except Skipped:  # a century or less exact
        return UNKNOWN


def _degrees(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not -_MAX_DEGREES <= value <= _MAX_DEGREES:
        raise Refused("the object is no coordinate", "syntax")
    text = f"{round(value, _DECIMALS) + 0.0:.{_DECIMALS}f}"
    return text.rstrip("0").rstrip(".")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Refused("there is no text where one belongs", "syntax")
    return value
