"""How a file is to be made into commits, and which of it names the run: the same again finds what it has made."""

from __future__ import annotations

from typing import TypedDict

from errata.calls.edits import EditOptions
from errata.problems import unsendable
from errata.wire import MAX_EDITS

TOGETHER = 500  # lines in one commit; clients/README.md says why


class BatchOptions(TypedDict, total=False):
    """model: whom a line corrects that does not say so itself. together: lines in one commit.

    skip_bad: leave out what cannot be made; else one bad line keeps all of them from being made.
    teach_rephrased: of EasyEdit's files, teach the rephrased prompts instead of asking them in the end.
    again: make anew what this file has made before and what was taken back since.
    """

    model: str
    together: int
    skip_bad: bool
    teach_rephrased: bool
    again: bool


class FileOptions(EditOptions, BatchOptions, total=False):
    """What an edit takes goes for every commit of the file.

    idempotency_key: another one makes another run of the same file, of which nothing has been made yet.
    """


class RunSettings:
    """The same, with what is left out filled in. commit: what goes for every commit, but its key."""

    def __init__(self, how: FileOptions) -> None:
        """Malformed when so many lines do not fit into one commit."""
        self.model = how.get("model", "nkb")
        self.together = how.get("together", TOGETHER)
        self.skip_bad, self.again = how.get("skip_bad", False), how.get("again", False)
        self.teach_rephrased = how.get("teach_rephrased", False)
        self.commit = EditOptions(message=how.get("message", ""), wait=how.get("wait", "all"))
        self.commit["strict"], self.commit["dry_run"] = how.get("strict", False), how.get("dry_run", False)
        if "method" in how:
            self.commit["method"] = how["method"]
        if "options" in how:
            self.commit["options"] = how["options"]
        self.dry_run, self.expected_version = how.get("dry_run", False), how.get("expected_version")
        self._run = how.get("idempotency_key", "")
        if not 1 <= self.together <= MAX_EDITS:
            raise unsendable(f"one commit takes 1 to {MAX_EDITS:,} lines, not {self.together:,} together")

    @property
    def names_the_run(self) -> tuple[object, ...]:
        """Whatever its commits would not be the same without."""
        options = tuple(sorted(self.commit.get("options", {}).items()))
        commit = self.commit.get("message"), self.commit.get("method"), *options
        return self._run, *commit, self.model, self.together, self.teach_rephrased
