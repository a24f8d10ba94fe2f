"""Reads the tokens that a reply reports, from JSON and from streams of any server, without parsing either."""

from __future__ import annotations

import re

KEPT_BYTES = 16_384  # Bytes at the end of a reply among which its usage stands
FIELD = re.compile(rb'(?<!\\)"(prompt|input|completion|output)_tokens"\s*:\s*(\d{1,12})')
KINDS = {b"prompt": "input", b"input": "input", b"completion": "output", b"output": "output"}


class UsageTap:
    """Sees a reply's chunks. A compressed reply has no figures."""

    def __init__(self) -> None:
        self._end = b""

    def add(self, chunk: bytes) -> None:
        self._end = (self._end + chunk)[-KEPT_BYTES:]

    @property
    def tokens(self) -> dict[str, int]:
        """The tokens by kind, input and output; the last figures count."""
        return {KINDS[kind]: int(count) for kind, count in FIELD.findall(self._end)}
