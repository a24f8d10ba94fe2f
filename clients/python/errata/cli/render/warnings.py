"""Warnings of a file, each kind once with the first few places that it is about; those of one edit, whole."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from rich.text import Text

from errata.cli.render.text import FLAGS, escape, one_line, plural
from errata.wire.wording import name_fields

MAX_PLACES = 3
# Quotations and shares, which differ between warnings of one kind
PARTICULARS = re.compile(r"(?<!\w)(?:'[^']*'|\"[^\"]*\")(?!\w)|\b\d+ %")


def summarize_warnings(warnings: Iterable[tuple[str, str]]) -> list[Text]:
    """Return a line for each kind of warning, the most frequent first; a file may have a thousand of one kind.

    Without places the first MAX_PLACES of a kind have a line each.

    Args:
        warnings: Pairs of a place, such as a line of a file, and a warning. Quotations and shares make no other kind.
    """
    kinds: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for place, warning in dict.fromkeys(warnings):
        kinds[PARTICULARS.sub("...", warning)].append((place, warning))
    lines: list[Text] = []
    for kind, members in sorted(kinds.items(), key=lambda pair: -len(pair[1])):
        n_more = len(members) - MAX_PLACES
        places = ", ".join(place for place, _ in members[:MAX_PLACES] if place)
        if len(members) > 1 and places:
            rest = f" and {n_more:,} more" if n_more > 0 else ""
            texts = [f"warning, {plural(len(members), 'time')} ({places}{rest}): {kind}"]
        else:
            texts = [f"warning{places and f' ({places})'}: {text}" for _, text in members[:MAX_PLACES]]
            texts += [f"warning: {n_more:,} more of this kind"] if n_more > 0 else []
        lines += [Text(f"  {escape(one_line(name_fields(text, FLAGS)))}", style="yellow") for text in texts]
    return lines
