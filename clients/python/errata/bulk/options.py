"""The options of a file of corrections, and of its commits."""

from __future__ import annotations

from typing import TypedDict

from errata.calls.edit import EditOptions

OF_COMMITS = ("message", "wait", "strict", "dry_run", "method", "options", "review")
BATCH_SIZE = 500  # lines in one commit; README.md of this folder says why


class BatchOptions(TypedDict, total=False):
    """The options that divide a file into commits.

    Attributes:
        model: The model to correct, for lines that name none.
        batch_size: Lines in one commit.
        skip_bad: Whether lines that cannot be used are left out; otherwise one of them stops the whole file.
        again: Whether commits of this file that were taken back are made again.
        sheet: Name of the sheet of a workbook; "" for its only one.
        max_lines: Lines that the file may have; None for any number.
    """

    model: str | None
    batch_size: int
    skip_bad: bool
    again: bool
    sheet: str
    max_lines: int | None


class FileOptions(EditOptions, BatchOptions, total=False):
    """The options of a file; those of an edit apply to every commit.

    Attributes:
        idempotency_key: Identifies a run; another key makes another run of the same file, without any commit yet.
    """


DEFAULTS = FileOptions(
    model=None,
    batch_size=BATCH_SIZE,
    skip_bad=False,
    again=False,
    sheet="",
    max_lines=None,
    message="",
    dry_run=False,
    expected_version=None,
    wait_report=True,  # for the reports of all commits, after the last
    idempotency_key=None,
)
