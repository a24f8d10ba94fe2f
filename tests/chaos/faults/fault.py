"""The type of a fault: it does harm to the service, and is over when `do` returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.chaos.scene import Scene


@dataclass(frozen=True)
class Fault:
    """A fault. description: a text for the report. cuts: whether connections of clients may break. silences: whether
    a while may pass without an answer. missing: the reason why it cannot be done here.
    """

    name: str
    description: str
    do: Callable[[Scene], None]
    cuts: bool = False
    silences: bool = False
    missing: Callable[[Scene], str | None] = lambda scene: None
