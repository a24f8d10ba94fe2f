"""Tags as they are told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from errata.wire import Tag, TagList

from service.ledger import tags


def told(tag: tags.Tag) -> Tag:
    return Tag.model_validate(asdict(tag))


def listed(found: Iterable[tags.Tag]) -> TagList:
    return TagList(tags=list(map(told, found)))
