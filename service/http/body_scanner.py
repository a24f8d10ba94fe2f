"""Measures a JSON body while it comes in, so that one too deep, too wide or too full is refused before it is parsed.

Pydantic looks at all of a body before it says what is wrong, and holds the interpreter meanwhile: seconds for a million
unknown fields. Strings are cut out by one regular expression, and what is left of a body is its structure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from service.errors import InvalidInput, MalformedJson, TooLarge

MAX_DEPTH = 64  # lists and objects within each other
MAX_WIDTH = 256  # fields of one object
TOO_WIDE = f"an object of the body has more than {MAX_WIDTH} fields: /docs lists those that it may have"
STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+("|\\?\Z)', re.DOTALL)  # to its end, or to that of the data
NOT_STRUCTURE = bytes(set(range(256)) - set(b"{}[]:,"))
OPEN_OBJECT, OPEN_LIST, COLON = b"{[:"
OPENING, CLOSING = b"{[", b"}]"
SLICE_BYTES = 16_384  # a millisecond or two, at worst


@dataclass(frozen=True)
class Bounds:
    """What a body may have, all its parts together. bytes: as sent. fields: of objects. items: of lists."""

    bytes: int
    objects: int
    fields: int
    items: int


class BodyScanner:
    """Takes a body piece by piece, cut anywhere."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._open_string = b""  # what its rest has to be read behind, where a piece ended within a string
        self._widths: list[int] = []  # of the objects that are open, from the outside in; -1 for a list
        self._n_objects = self._n_fields = self._n_items = 0

    @property
    def n_parts(self) -> int:
        """Fields and items so far."""
        return self._n_fields + self._n_items

    def feed(self, data: bytes) -> None:
        """Raise TooLarge, InvalidInput or MalformedJson as soon as a bound is passed."""
        for start in range(0, len(data), SLICE_BYTES):
            parts = STRING.split(self._open_string + data[start : start + SLICE_BYTES])
            is_open = len(parts) > 1 and parts[-2] != b'"'
            self._open_string = b'"' + parts[-2] if is_open else b""
            self._measure(b"".join(parts[::2]).translate(None, NOT_STRUCTURE))

    def _measure(self, structure: bytes) -> None:
        widths = self._widths
        for sign in structure:
            if sign in OPENING:
                widths.append(0 if sign == OPEN_OBJECT else -1)
                self._n_items += sign == OPEN_LIST
                self._n_objects += sign == OPEN_OBJECT
                if len(widths) > MAX_DEPTH:
                    raise MalformedJson(
                        f"the body is JSON nested more than {MAX_DEPTH} deep: send it flatter"
                    )
            elif sign in CLOSING:
                if widths:
                    widths.pop()
            elif sign == COLON:
                self._n_fields += 1
                if widths:
                    widths[-1] += 1
                    if widths[-1] > MAX_WIDTH:
                        raise InvalidInput(TOO_WIDE)
            elif widths and widths[-1] < 0:
                self._n_items += 1
        self._check_totals()

    def _check_totals(self) -> None:
        for count, limit, noun in (
            (self._n_objects, self._bounds.objects, "objects"),
            (self._n_fields, self._bounds.fields, "fields"),
            (self._n_items, self._bounds.items, "items in lists"),
        ):
            if count > limit:
                detail = f"the body may have {limit:,} {noun}: send less, in several requests"
                raise TooLarge(detail, limit=limit)
