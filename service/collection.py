"""Keeps Python's garbage collection away from what a process holds for good: its libraries and its model."""

from __future__ import annotations

import gc


def spare_what_is_here() -> None:
    """To be called when a process has loaded everything.

    A full collection looks at every object that is not spared, half a million after the imports of torch and Ray:
    0.3 s in which nobody is answered, at a moment that nobody chooses.
    """
    gc.collect()
    gc.freeze()
