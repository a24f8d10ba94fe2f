"""Runs something between two lines of a function, as another thread may."""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any


@contextmanager
def before_line(function: Callable[..., Any], number: int, act: Callable[[], object]) -> Iterator[None]:
    """Call `act` once, before the line `number` of the function that is run, from 0."""
    code: CodeType = inspect.unwrap(function).__code__  # the tests check the shapes of arguments in a wrapper
    n_lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal n_lines
        if frame.f_code is not code:
            return None
        if event == "line":
            n_lines += 1
            if n_lines == number + 1:
                act()
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(previous)
    assert n_lines, "the function was run"
