"""A commit before it is one: what is to be switched, decided on one version and void on any other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from errata.wire import EditReport, RefusedEdit

from models.memory import Material
from service.ledger.commit import EditRecord, Kind
from service.ledger.fold import Change
from service.measuring.present import Present
from service.measuring.reading import Reading
from service.measuring.stopwatch import Stopwatch


@dataclass(frozen=True)
class Draft:
    """records, materials: of new edits. idle: place among the edits asked for -> report of one that is not needed.

    places: id of a new edit -> its place in the request. refused: what was left out of it.
    """

    change: Change
    target: int | None = None
    records: tuple[EditRecord, ...] = ()
    materials: tuple[Material, ...] = ()
    idle: Mapping[int, EditReport] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)
    refused: tuple[RefusedEdit, ...] = ()


class Plan(Protocol):
    """What somebody asked for. It may be drafted again when another writer was faster.

    request: digest of what was asked, by which a repetition is known from another use of its key.
    """

    kind: Kind
    message: str
    request: str

    async def draft(self, present: Present, watch: Stopwatch) -> Draft:
        """Raises what is wrong with the request; NothingToDo when the present is as it should be."""

    async def stands(self, draft: Draft, after: Mapping[str, Reading]) -> bool:
        """Whether the draft can be measured; else it is drafted again. after: every model with the draft."""
