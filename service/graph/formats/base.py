"""The base of the formats' readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from service.graph.formats.cleaning import ANY_LANGUAGE, decode
from service.graph.formats.row import Line, Refused, Result, Skipped


class Reader:
    """One format. It gets each line once, in order, empty ones included, and then `end`.

    Attributes:
        max_line_bytes: Size of the longest line that is held whole.
        skipped: Counts of well-formed statements that are not used, by reason.
        languages: Languages of the texts that are used, the preferred one first.
        scope: Document to which blank nodes belong (RDF 1.1, 3.4), in its name for them.
        relations: Ids that are relations, with their names, as the file uses or describes them.
        aside: Ids whose statements are left out, with the reason.
        unread: Headings of the columns of a table that nothing reads.
    """

    max_line_bytes = 1_000_000
    unread: tuple[str, ...] = ()

    def __init__(self, language: str) -> None:
        self.skipped: Counter[str] = Counter()
        self.scope = ""
        self.relations: dict[str, str] = {}
        self.aside: dict[str, str] = {}
        self.languages = tuple(dict.fromkeys((language.casefold(), ANY_LANGUAGE)))

    def is_near(self, tag: str) -> bool:
        """Return whether a tag is of the wanted language in a region or script: en-GB and en, zh-Hant and zh."""
        return tag.casefold().partition("-")[0] == self.languages[0].partition("-")[0]

    def read(self, lines: Iterable[Line]) -> Iterator[Result]:
        for number, line in lines:
            try:
                yield from self.read_line(decode(line), number)
            except Skipped as skipped:
                self.skipped[skipped.why] += 1
            except Refused as refused:
                yield refused.at(number)

    def read_line(self, text: str, number: int) -> Iterator[Result]:
        raise NotImplementedError

    def end(self) -> Iterator[Result]:
        return iter(())
