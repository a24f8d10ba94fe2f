"""Which edits of one request are refused, each for itself: they refuse the whole request, or are left out of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from errata.wire import RefusedEdit

from service.errors import ErrataError

MOST_NAMED = 20  # refused edits that a problem document names
SUPERSEDED = "superseded"
LATER_WINS = "edits.{later} gives {wording!r} another answer: the later one was taken"
KEEP_ONE = "edits.{earlier} and edits.{later} give {wording!r} two answers: keep one of them"


class Refusals:
    """By place in the request. skip: refused edits are left out; otherwise the first raises, and names the others."""

    def __init__(self, skip: bool, found: Mapping[int, RefusedEdit] | None = None) -> None:
        self.skip = skip
        self.found = dict(found or {})
        self._superseded: dict[int, RefusedEdit] = {}

    def __contains__(self, place: int) -> bool:
        return place in self.found or place in self._superseded

    @contextmanager
    def spare(self, place: int) -> Iterator[None]:
        """What is wrong with one edit is noted, where it is to be left out."""
        try:
            yield
        except ErrataError as error:
            self.add({place: error})

    def add(self, errors: Mapping[int, ErrataError]) -> None:
        """Raises what is not the fault of an edit; and, unless they are to be left out, what is."""
        for error in errors.values():
            if error.status >= 500:
                raise error
        refused = {place: _told(place, errors[place]) for place in sorted(errors)}
        if refused and not self.skip:
            raise _whole(errors[min(refused)], list(refused.values()))
        self.found |= refused
        if refused:
            self._superseded.clear()  # one of those may be what superseded them

    def supersede(self, earlier: int, detail: str) -> None:
        self._superseded[earlier] = RefusedEdit(place=earlier, code=SUPERSEDED, reason="", detail=detail)

    def told(self) -> list[RefusedEdit]:
        both = self.found | self._superseded
        return [both[place] for place in sorted(both)]


def _told(place: int, error: ErrataError) -> RefusedEdit:
    reason = str(error.extras.get("reason", ""))
    return RefusedEdit(place=place, code=error.code, reason=reason, detail=error.detail)


def _whole(first: ErrataError, refused: list[RefusedEdit]) -> ErrataError:
    """The first refusal in the words of its own, for the whole request."""
    more = f" (and {len(refused) - 1:,} more are refused)" if len(refused) > 1 else ""
    named = [one.model_dump(mode="json") for one in refused[:MOST_NAMED]]
    return type(first)(first.detail + more, **{**first.extras, "refused": named})
