"""How a file is made into commits, and which of these options name the run: the same again finds what it has made."""

from __future__ import annotations

from typing import TypedDict

from errata.calls.edits import EditOptions
from errata.problems import unsendable
from errata.wire import MAX_EDITS

BATCH_SIZE = 500  # lines in one commit; README.md of this folder says why


class BatchOptions(TypedDict, total=False):
    """model: whom a line corrects that does not say so itself. batch_size: lines in one commit.

    skip_bad: leave out what cannot be made; else one bad line keeps all of them from being made.
    teach_rephrased: of EasyEdit's files, teach the rephrased prompts instead of asking them in the end.
    again: make anew what this file has made before and what was taken back since.
    """

    model: str | None
    batch_size: int
    skip_bad: bool
    teach_rephrased: bool
    again: bool


class FileOptions(EditOptions, BatchOptions, total=False):
    """What an edit takes goes for every commit of the file.

    idempotency_key: another one makes another run of the same file, of which nothing has been made yet.
    """


class RunSettings:
    """The options with their defaults filled in. commit: what goes for every commit, but its key."""

    def __init__(self, options: FileOptions) -> None:
        """Malformed when so many lines do not fit into one commit."""
        self.model = options.get("model")
        self.batch_size = options.get("batch_size", BATCH_SIZE)
        self.skip_bad, self.again = options.get("skip_bad", False), options.get("again", False)
        self.teach_rephrased = options.get("teach_rephrased", False)
        self.dry_run = options.get("dry_run", False)
        self.expected_version = options.get("expected_version")
        self.commit = EditOptions(
            message=options.get("message", ""),
            wait=options.get("wait", "all"),
            strict=options.get("strict", False),
            dry_run=self.dry_run,
            method=options.get("method"),
            options=options.get("options", {}),
        )
        self._run_key = options.get("idempotency_key") or ""
        if not 1 <= self.batch_size <= MAX_EDITS:
            raise unsendable(f"one commit takes 1 to {MAX_EDITS:,} lines, not {self.batch_size:,} together")

    @property
    def run_identity(self) -> tuple[object, ...]:
        """Whatever its commits would not be the same without."""
        editing = sorted(self.commit.get("options", {}).items())
        commit = self.commit.get("message"), self.commit.get("method"), *editing
        return self._run_key, *commit, self.model, self.batch_size, self.teach_rephrased
