"""The disk of ledger, logs and metrics is full: no commit is acknowledged until there is room, and none is lost."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from tests.chaos.scene import Fault, Scene

PIECES = (1_000_000, 4_096, 1)


def _full(scene: Scene) -> None:
    start_s, before = scene.recorder.now, len(scene.recorder.answers)
    with fill_disk(scene.life.service.var / "filler"):
        scene.hold()
        commits = [commit for commit in scene.journal.acknowledgements if commit.at > start_s]
    answers = [answer for answer in scene.recorder.answers[before:] if answer.sent_s > start_s]
    scene.expect(
        any(answer.degraded == "ledger_unavailable" for answer in answers), "answers say that they may be old"
    )
    scene.note(
        f"{len(answers)} answers and {len(commits)} commits came within {scene.hold_s:g} s of a full disk"
    )


@contextmanager
def fill_disk(file: Path) -> Iterator[None]:
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


FULL = Fault("full", "a full disk", _full, missing=_missing)
