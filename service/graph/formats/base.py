"""What the readers of the formats have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from service.graph.formats.row import Line, Refused, Result, Skipped
from service.graph.formats.text import ANY_LANGUAGE, decode


class Reader:
    """One format. It gets each line once, in order, empty ones included, and then `end`.

    max_line_bytes: longer lines are never held whole. skipped: what is well-formed but not taken, by why.
    languages: whose texts are taken, the likeliest first.
    """

    max_line_bytes = 1_000_000

    def __init__(self, language: str) -> None:
        self.skipped: Counter[str] = Counter()
        self.languages = tuple(dict.fromkeys((language.casefold(), ANY_LANGUAGE)))

    def read(self, lines: Iterable[Line]) -> Iterator[Result]:
        for number, line in lines:
            try:
                yield from self.read_line(decode(line), number)
            except Skipped as skipped:
                self.skipped[skipped.why] += 1
            except Refused as refused:
                yield refused.at(number)

    def read_line(self, text: str, number: int) -> Iterator[Result]:
        """Of a format whose lines stand each for itself."""
        raise NotImplementedError

    def end(self) -> Iterator[Result]:
        return iter(())
