"""A context as sentences, which are candidates where no span of it is the answer."""

import re

END = re.compile(r"(?<!\b[A-Z])[.!?]+[\"')\]]*(?=\s)|\n")  # an initial ends no sentence
MOST = 64  # sentences that are read


def sentences(text: str) -> list[str]:
    """Without the space around them; none is empty."""
    ends = [match.end() for match in END.finditer(text)]
    parts = [text[start:end].strip() for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    return [part for part in parts if part][:MOST]
