"""What a fault is: something that is done to the service, and is over when `do` returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.chaos.scene import Scene


@dataclass(frozen=True)
class Fault:
    """description: for the report. cuts: connections of clients may break for it. silences: nobody is there to answer,
    so that a while may pass without any. missing: why it cannot be done here.
    """

    name: str
    description: str
    do: Callable[[Scene], None]
    cuts: bool = False
    silences: bool = False
    missing: Callable[[Scene], str | None] = lambda scene: None
