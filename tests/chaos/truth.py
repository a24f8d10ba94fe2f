"""What every version has to answer, worked out from its commits alone, by none of the service's own code.

The rules of the toy: of the active gated edits that have a wording, the newest answers it; else the newest active edit
of its row; else what it knew from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from errata.wire import VersionDetail

from tests.chaos.questions import BASE


@dataclass(frozen=True)
class Said:
    """answer: None where it declines. edits: ids of those that the answer rests on."""

    answer: str | None
    edits: tuple[str, ...]


@dataclass(frozen=True)
class Made:
    """One edit, numbered in the order of the ledger."""

    id: str
    wordings: tuple[str, ...]
    answer: str
    gated: bool


class Truth:
    """commits: versions 1, 2, ... without a gap."""

    def __init__(self, commits: Sequence[VersionDetail]) -> None:
        self._made: dict[str, Made] = {}
        self._active: list[frozenset[str]] = [frozenset()]
        self._taken: list[frozenset[str]] = [frozenset()]
        for commit in commits:
            self._follow(commit)
        self._table = lru_cache(maxsize=None)(self._compiled)

    @property
    def head(self) -> int:
        return len(self._active) - 1

    def at(self, version: int, question: str) -> Said:
        return self._table(version).get(question, Said(BASE.get(question), ()))

    def _follow(self, commit: VersionDetail) -> None:
        assert commit.version == self.head + 1, f"version {commit.version} follows {self.head}"
        active = self._active[-1]
        now = self._after(commit, active)
        self._active.append(now)
        self._taken.append(active - now)

    def _after(self, commit: VersionDetail, active: frozenset[str]) -> frozenset[str]:
        if commit.kind == "edit":
            return active | self._learned(commit)
        target = commit.target or 0
        if commit.kind == "rollback":
            return self._active[target]
        brought = self._active[target] - self._active[target - 1]
        return (active - brought) | self._taken[target]

    def _learned(self, commit: VersionDetail) -> set[str]:
        for edit in commit.edits:
            wordings = (edit.question, *edit.paraphrases)
            self._made[edit.id] = Made(edit.id, wordings, edit.answer, edit.method == "gated")
        return {edit.id for edit in commit.edits}

    def _compiled(self, version: int) -> dict[str, Said]:
        standing = [made for key, made in self._made.items() if key in self._active[version]]
        rows = {made.wordings[0]: _said(made) for made in standing if not made.gated}
        return rows | dict(_gates(made for made in standing if made.gated))


def _gates(standing: Iterable[Made]) -> Iterable[tuple[str, Said]]:
    """A later pair replaces an earlier one."""
    return ((wording, _said(made)) for made in standing for wording in made.wordings)


def _said(made: Made) -> Said:
    return Said(made.answer, (made.id,))
