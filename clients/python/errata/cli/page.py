"""The streams of a run, and the pages that are written to them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

PIPE_COLUMNS = 10_000  # columns in a pipe, so that no line is wrapped: programs read it line by line


class Page(Console):
    """Prints plain text, without markup, emoji codes or coloured numbers.

    Args:
        site: Address that is put before links that are paths.
    """

    def __init__(self, site: str, stderr: bool, width: int | None) -> None:
        super().__init__(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)
        self._site = site

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            style = segment.style
            if style is not None and style.link is not None and style.link.startswith("/"):
                segment = segment._replace(style=style.update_link(self._site + style.link))
            yield segment


def make_console(site: str = "", *, stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPE_COLUMNS
    return Page(site, stderr, width)
