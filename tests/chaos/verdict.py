"""Whether the service kept its promises: each one counted, each with the number that it may not exceed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from errata.wire import VersionDetail

from tests.chaos.heard import Ears, Heard
from tests.chaos.journal import Acknowledged, Journal
from tests.chaos.truth import Truth

MOST_GROWTH = 0.05
MOST_EXAMPLES = 5


@dataclass(frozen=True)
class Check:
    """count may be `most`. examples: some of what was counted."""

    what: str
    count: float
    most: float
    examples: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        return self.count <= self.most


def counted(what: str, found: Iterable[str]) -> Check:
    """None of it may be."""
    all_ = list(found)
    return Check(what, len(all_), 0, tuple(all_[:MOST_EXAMPLES]))


def of_answers(ears: Ears, truth: Truth) -> list[Check]:
    return [
        counted("answers that do not fit the version they name", _wrong(ears.answers, truth)),
        counted("answers older than promised, or of another version than pinned", _old(ears.answers)),
        counted("refusals that nothing explains", ears.strange),
    ]


def of_commits(journal: Journal, commits: Sequence[VersionDetail]) -> list[Check]:
    made = Counter(commit.message for commit in commits)
    return [
        counted(
            "acknowledged commits that are not in the ledger as they were asked for", _lost(journal, commits)
        ),
        counted("commits that nobody asked for", (key for key in made if key not in journal.intents)),
        counted("requests that made more than one commit", (key for key, count in made.items() if count > 1)),
    ]


def _wrong(answers: Iterable[Heard], truth: Truth) -> Iterable[str]:
    for one in answers:
        if one.version > truth.head:
            yield f"version {one.version} is not in the ledger, which ends at {truth.head}: {one}"
            continue
        right = truth.at(one.version, one.question)
        if (one.answer, one.edits) != (right.answer, right.edits):
            yield f"{right} is right, not {one}"


def _old(answers: Iterable[Heard]) -> Iterable[str]:
    for one in answers:
        pinned = one.promise.pin
        if one.version < one.promise.floor or pinned not in (None, one.version):
            yield str(one)


def _lost(journal: Journal, commits: Sequence[VersionDetail]) -> Iterable[str]:
    for one in journal.acknowledged:
        found = commits[one.version - 1] if one.version <= len(commits) else None
        if found is None or not _same(one, found):
            yield f"{one} became {found and (found.kind, found.message, found.target)}"


def _same(one: Acknowledged, found: VersionDetail) -> bool:
    intent = one.intent
    asked = [(c.question, c.answer, list(c.paraphrases)) for c in intent.corrections]
    made = [(e.question, e.answer, e.paraphrases) for e in found.edits]
    wanted = (intent.key, intent.kind, intent.target, asked, list(one.edits))
    return wanted == (found.message, found.kind, found.target, made, [e.id for e in found.edits])
