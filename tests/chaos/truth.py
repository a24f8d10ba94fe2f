"""What every version has to answer, worked out from its commits alone, by none of the service's own code.

The rules of the toy: of the active gated edits that have a wording, the newest answers it; else the newest active edit
of its row; else what it knew from the start. Where the atlas is asked, too, it answers what the toy answers by no edit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from errata.wire import VersionDetail

from tests.chaos.questions import BASE


@dataclass(frozen=True)
class ExpectedAnswer:
    """An expected answer. answer: None if it declines. edits: ids of the edits behind the answer."""

    answer: str | None
    edits: tuple[str, ...]


@dataclass(frozen=True)
class Edit:
    id: str
    wordings: tuple[str, ...]
    answer: str
    gated: bool

    @property
    def expected(self) -> ExpectedAnswer:
        return ExpectedAnswer(self.answer, (self.id,))


class Truth:
    """The expected answers. commits: versions 1, 2, ... without a gap. graph: answers of the atlas, if it is asked."""

    def __init__(
        self, commits: Sequence[VersionDetail], graph: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._facts = {"nkb": BASE, "atlas": graph}
        self._edits: dict[str, Edit] = {}  # in the order of the ledger
        self._active: list[frozenset[str]] = [frozenset()]  # by version
        self._taken_back: list[frozenset[str]] = [frozenset()]  # by the commit of each version
        for commit in commits:
            self._follow(commit)
        self._table = lru_cache(maxsize=None)(self._compile)

    @property
    def head(self) -> int:
        return len(self._active) - 1

    def at(self, version: int, question: str, away: Sequence[str] = ()) -> ExpectedAnswer:
        """Return the answer of the systems that are not away."""
        if "nkb" not in away and (by_edit := self._table(version).get(question)):
            return by_edit
        facts = [
            facts[question] for name, facts in self._facts.items() if name not in away and question in facts
        ]
        return ExpectedAnswer(facts[0] if facts else None, ())

    def _follow(self, commit: VersionDetail) -> None:
        assert commit.version == self.head + 1, f"version {commit.version} follows {self.head}"
        before = self._active[-1]
        after = self._apply(commit, before)
        self._active.append(after)
        self._taken_back.append(before - after)

    def _apply(self, commit: VersionDetail, active: frozenset[str]) -> frozenset[str]:
        if commit.kind == "edit":
            for edit in commit.edits:
                wordings = (edit.question, *edit.paraphrases)
                self._edits[edit.id] = Edit(edit.id, wordings, edit.answer, edit.method == "gated")
            return active | {edit.id for edit in commit.edits}
        target = commit.target or 0
        if commit.kind == "rollback":
            return self._active[target]
        new_edits = self._active[target] - self._active[target - 1]
        return (active - new_edits) | self._taken_back[target]

    def _compile(self, version: int) -> dict[str, ExpectedAnswer]:
        """Compile answers by wording. A later edit replaces an earlier one, and a gate answers before a row."""
        edits = [edit for id, edit in self._edits.items() if id in self._active[version]]
        rows = {edit.wordings[0]: edit.expected for edit in edits if not edit.gated}
        gates = {wording: edit.expected for edit in edits if edit.gated for wording in edit.wordings}
        return rows | gates
