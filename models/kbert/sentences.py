"""A context as sentences, which are candidates where no span of it is the answer."""

import re

END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")
MOST = 64  # sentences that are read


def sentences(text: str) -> list[str]:
    """Without the space around them; none is empty."""
    return [part for part in (one.strip() for one in END.split(text)) if part][:MOST]
