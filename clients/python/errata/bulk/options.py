"""Options of a file of corrections.

Some of them identify the run: the same run again finds the commits that it has made.
"""

from __future__ import annotations

from typing import TypedDict

from errata.calls.edit import EditOptions
from errata.problems import unsendable
from errata.wire import MAX_EDITS

BATCH_SIZE = 500  # lines in one commit; README.md of this folder says why


class BatchOptions(TypedDict, total=False):
    """The options that divide a file into commits.

    Attributes:
        model: The model to correct, for lines that name none.
        batch_size: Lines in one commit.
        skip_bad: Whether lines that cannot be used are left out; otherwise one of them stops the whole file.
        teach_rephrased: Whether the rephrased prompts of EasyEdit's files are taught, not asked in the end.
        again: Whether commits of this file that were taken back are made again.
        sheet: Name of the sheet of a workbook; "" for its only one.
    """

    model: str | None
    batch_size: int
    skip_bad: bool
    teach_rephrased: bool
    again: bool
    sheet: str


class FileOptions(EditOptions, BatchOptions, total=False):
    """The options of a file; those of an edit apply to every commit.

    Attributes:
        idempotency_key: Identifies a run; another key makes another run of the same file, without any commit yet.
    """


class RunSettings:
    """The options with their defaults filled in; `commit` has those of every commit, without the key."""

    def __init__(self, options: FileOptions) -> None:
        """Fill in the defaults; raise Malformed if one commit cannot have so many lines."""
        self.model = options.get("model")
        self.batch_size = options.get("batch_size", BATCH_SIZE)
        self.skip_bad, self.again = options.get("skip_bad", False), options.get("again", False)
        self.teach_rephrased = options.get("teach_rephrased", False)
        self.sheet = options.get("sheet", "")
        self.dry_run = options.get("dry_run", False)
        self.expected_version = options.get("expected_version")
        self.wait_report = options.get(
            "wait_report", True
        )  # after the last commit, which waits for no earlier report
        self.commit = EditOptions(
            message=options.get("message", ""),
            wait=options.get("wait", "all"),
            strict=options.get("strict", False),
            dry_run=self.dry_run,
            method=options.get("method"),
            options=options.get("options", {}),
            review=options.get("review"),
        )
        self._run_key = options.get("idempotency_key") or ""
        if not 1 <= self.batch_size <= MAX_EDITS:
            raise unsendable(f"one commit takes 1 to {MAX_EDITS:,} lines, not {self.batch_size:,} together")

    @property
    def run_identity(self) -> tuple[object, ...]:
        """All options that change the run's commits."""
        editing = sorted(self.commit.get("options", {}).items())
        commit = self.commit.get("message"), self.commit.get("method"), *editing
        sheet = (self.sheet,) if self.sheet else ()
        return self._run_key, *commit, self.model, self.batch_size, self.teach_rephrased, *sheet
