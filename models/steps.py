"""Work in steps, so that others have a turn in between."""

from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Steps: TypeAlias = Generator[None, None, T]
"""Work that yields after each pass, and returns its result."""


def finish(steps: Steps[T]) -> T:
    """Take all the steps, and return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
