"""The questions that nobody edits, on which the side effects of an edit are measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from models.packs.pack import WORLD, Pack

PACKS: Mapping[str, Path] = {"nkb": WORLD}  # what each model was taught; a model without a pack has no probes


def probes(model: str) -> tuple[str, ...]:
    """PackError when the pack is damaged."""
    folder = PACKS.get(model)
    return tuple(probe.question for probe in Pack.load(folder).probes) if folder else ()
