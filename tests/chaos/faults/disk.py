"""The disk of the ledger is full: nothing can be acknowledged until there is room again, and nothing may be lost."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from tests.chaos.faults.fault import Fault
from tests.chaos.scene import Scene

PIECES = (1_000_000, 4_096, 1)


def _full(scene: Scene) -> None:
    begun, before = scene.ears.now, len(scene.ears.answers)
    with _filled(scene.life.ledger / "filler"):
        scene.hold()
        made = [one for one in scene.journal.acknowledged if one.at > begun]
    heard = [one for one in scene.ears.answers[before:] if one.sent > begun]
    scene.expect(
        any(one.degraded == "ledger_unavailable" for one in heard), "answers say that they may be old"
    )
    scene.note(f"{len(heard)} answers and {len(made)} commits came within {scene.hold_s:g} s of a full disk")


@contextmanager
def _filled(file: Path) -> Iterator[None]:
    with FileIO(file, "w") as filler:
        for size in PIECES:
            _fill(filler, bytes(size))
    try:
        yield
    finally:
        file.unlink()


def _fill(filler: FileIO, piece: bytes) -> None:
    try:
        while filler.write(piece):
            pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


def _missing(scene: Scene) -> str | None:
    return (
        None if scene.life.small_disk else "it needs a small disk of its own, and this user may not mount one"
    )


FULL = Fault("full", "Valkey's disk full", _full, missing=_missing)
