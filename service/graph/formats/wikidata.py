"""Items and properties out of Wikidata's JSON dump: one entity on a line, the lines between `[` and `]`.

https://doc.wikimedia.org/Wikibase/master/php/docs_topics_json.html. What PHP writes of an empty map is an empty list.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from service.graph.formats.row import Code, Kind, LeftOut, Line, Read, Refused, Rejected, Row
from service.graph.formats.snak import Snaks, listed, mapped, text_in
from service.graph.formats.text import ANY_LANGUAGE, clean, clean_relation, decoded, shown

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
                except LeftOut as left_out:
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
