"""The judge itself: each promise, when it is broken, is seen to be broken."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from errata.wire import EditState, VersionDetail

from tests.chaos.faults.all import FAULTS
from tests.chaos.heard import LATE_S, Ears, Promise
from tests.chaos.journal import Correction, Intent, Journal
from tests.chaos.judging import judged
from tests.chaos.run import Options, Run
from tests.chaos.struck import Struck
from tests.chaos.truth import Said, Truth
from tests.chaos.verdict import Check, of_answers, of_commits
from tests.chaos.watching import ROLES, Sample, Window, growth, together

PERU = "What is the capital of Peru?"
OTHERWISE = "Peru's?"
NOTHING = Promise(0)


def commit(
    version: int, kind: str, *edits: EditState, message: str = "", target: int | None = None
) -> VersionDetail:
    now = datetime.now(UTC)
    known: dict[str, Any] = {"checksums": {}, "writes": {}, "report": {}, "author": "somebody", "time": now}
    return VersionDetail(
        version=version, kind=kind, message=message, target=target, edits=list(edits), **known
    )


def edit(id: str, answer: str, *paraphrases: str, method: str = "gated") -> EditState:
    return EditState(
        id=id, question=PERU, answer=answer, paraphrases=list(paraphrases), method=method, active=True
    )


@pytest.fixture
def truth() -> Truth:
    return Truth(
        [
            commit(1, "edit", edit("a", "Cusco", OTHERWISE)),
            commit(2, "edit", edit("b", "Puno")),
            commit(3, "revert", target=2),
            commit(4, "revert", target=3),
            commit(5, "rollback", target=0),
            commit(6, "revert", target=5),
        ]
    )


@pytest.fixture
def ears(tmp_path: Path) -> Iterator[Ears]:
    journal = Journal(tmp_path / "journal.jsonl")
    yield Ears(journal)
    journal.close()


def test_every_version_has_its_own_answer(truth: Truth) -> None:
    said = [truth.at(version, PERU) for version in range(7)]
    assert [one.answer for one in said] == ["Lima", "Cusco", "Puno", "Cusco", "Puno", "Lima", "Puno"]
    assert [truth.at(version, OTHERWISE).answer for version in (0, 2, 5)] == [None, "Cusco", None]


def test_a_gate_answers_before_a_row() -> None:
    truth = Truth(
        [commit(1, "edit", edit("a", "Cusco")), commit(2, "edit", edit("b", "Puno", method="surgery"))]
    )
    assert truth.at(2, PERU) == Said("Cusco", ("a",))


def test_a_gap_in_the_ledger_is_no_ledger() -> None:
    with pytest.raises(AssertionError, match="version 2 follows 0"):
        Truth([commit(2, "edit")])


@pytest.mark.parametrize(
    ("version", "answer", "edits", "wrong"),
    [
        (1, "Cusco", "a", 0),
        (1, "Puno", "b", 1),
        (2, "Cusco", "a", 1),
        (1, "Cusco", "b", 1),
        (7, "Puno", "b", 1),
    ],
)
def test_an_answer_fits_its_version_or_is_counted(
    truth: Truth, ears: Ears, version: int, answer: str, edits: str, wrong: int
) -> None:
    heard(ears, version, answer, edits)
    assert failing(of_answers(ears, truth)) == wrong


@pytest.mark.parametrize(
    ("promise", "broken"),
    [(Promise(2), 0), (Promise(3), 1), (Promise(0, 2), 0), (Promise(0, 1), 1)],
)
def test_an_answer_older_than_promised_is_counted(
    truth: Truth, ears: Ears, promise: Promise, broken: int
) -> None:
    heard(ears, 2, "Puno", "b", promise)
    assert failing(of_answers(ears, truth)) == broken


def test_what_every_replica_confirmed_is_promised_to_who_asks_for_nothing(ears: Ears) -> None:
    intent = Intent("edit", (Correction(PERU, "Cusco"),))
    ears.journal.acknowledge(intent, 4, True, ["a"], 0.0)
    ears.journal.acknowledge(intent, 5, False, ["b"], 0.0)
    assert ears.promised({"question": PERU}) == Promise(4)
    assert ears.promised({"question": PERU, "min_version": 5}) == Promise(5)
    assert ears.promised({"question": PERU, "version": 1}) == Promise(0, 1)


@pytest.mark.parametrize(
    ("status", "code", "strange"),
    [
        (503, "ledger_unavailable", 0),
        (429, "too_many", 0),
        (503, "internal", 1),
        (500, "internal", 1),
        (404, "not_found", 1),
    ],
)
def test_only_documented_refusals_are_explained(
    truth: Truth, ears: Ears, status: int, code: str, strange: int
) -> None:
    ears.begin("valkey")
    ears.refused(status, code, "why")
    assert failing(of_answers(ears, truth)) == strange


def test_without_harm_no_refusal_is_explained(truth: Truth, ears: Ears) -> None:
    ears.begin("valkey")
    ears.end()
    ears.refused(503, "ledger_unavailable", "it was sent before")
    assert failing(of_answers(ears, truth)) == 0
    ears.over -= LATE_S
    ears.refused(503, "ledger_unavailable", "why")
    assert failing(of_answers(ears, truth)) == 1


def test_what_was_acknowledged_has_to_be_there_once_and_as_it_was_asked_for(ears: Ears) -> None:
    wanted = Intent("edit", (Correction(PERU, "Cusco"),))
    ears.journal.begin(wanted)
    ears.journal.acknowledge(wanted, 1, True, ["a"], 0.0)
    made = commit(1, "edit", edit("a", "Cusco"), message=wanted.key)
    again = commit(2, "edit", edit("b", "Cusco"), message=wanted.key)
    assert failing(of_commits(ears.journal, [made])) == 0
    assert failing(of_commits(ears.journal, [])) == 1
    assert failing(of_commits(ears.journal, [made, again])) == 1
    assert failing(of_commits(ears.journal, [commit(1, "edit", edit("a", "Puno"), message=wanted.key)])) == 1
    assert failing(of_commits(ears.journal, [made, commit(2, "edit", message="nobody's")])) == 1


def test_growth_is_each_process_against_itself_once_it_is_warm() -> None:
    window = Window(begin=60, end=200, warm_s=60, least_s=50)
    lasting = [
        Sample(at, 1, "editor", at, rss, 10) for at, rss in [(30, 50), (60, 100), (120, 110), (200, 120)]
    ]
    killed = [Sample(at, 2, "replica", at, 100 * at, 10) for at in (60, 100)]
    fresh = [Sample(at, 3, "replica", at - 150, 100 * at, 10) for at in (160, 200)]
    found = growth([*lasting, *killed, *fresh], window, "rss")
    assert [(one.role, one.before, one.after) for one in found] == [("editor", 100, 120)]
    assert together(found).share == pytest.approx(0.2)


def struck(name: str, silence_s: float = 0.0, missing: str | None = None) -> Struck:
    return Struck(name, name, 40.0, 45.0, 50.0, silence_s, 9, {}, (), missing)


def lived(role: str, pid: int, before: int, after: int, seconds: float = 300) -> list[Sample]:
    times = map(float, range(0, int(seconds), 10))
    return [Sample(at, pid, role, at, before if at < 0.6 * seconds else after, 10) for at in times]


def ran(ears: Ears, minutes: float = 5.0, **more: Any) -> Run:
    """A run that kept every promise; `more` changes that."""
    took_s = 60.0 * minutes
    roles = enumerate(ROLES.values())
    samples = [one for pid, role in roles for one in lived(role, pid, 10**8, 10**8, took_s)]
    known: dict[str, Any] = {
        "options": Options(minutes, 1, 64, 4, Path()),
        "journal": ears.journal,
        "ears": ears,
        "watch": SimpleNamespace(samples=samples, connections=[(float(at), 11) for at in range(int(took_s))]),
        "struck": [struck("valkey")],
        "left_out": [],
        "unmet": [],
        "commits": [],
        "wrong_sums": [],
        "took_s": took_s,
    }
    return Run(**(known | more))


def broken(run: Run) -> list[str]:
    return [check.what for check in judged(run) if not check.held]


def test_a_run_in_which_all_was_kept_breaks_nothing(ears: Ears) -> None:
    assert broken(ran(ears)) == []
    assert broken(ran(ears, minutes=30)) == []


def test_faults_that_were_not_done_are_told(ears: Ears) -> None:
    assert broken(ran(ears, struck=[struck("full", missing="no root")])) == ["faults that were not done"]
    assert broken(ran(ears, left_out=[FAULTS[0]])) == ["faults that were not done"]


def test_silence_is_for_those_who_are_alone_to_answer(ears: Ears) -> None:
    assert broken(ran(ears, struck=[struck("replicas", 20.0), struck("valkey", 4.9)])) == []
    (what,) = broken(ran(ears, struck=[struck("replica", 5.1)]))
    assert "5 s without an answer" in what


def test_one_part_that_grows_is_not_hidden_by_the_others(ears: Ears) -> None:
    run = ran(ears)
    samples = [one for one in run.watch.samples if one.role != "gcs"] + lived("gcs", 99, 10**8, 106 * 10**6)
    grown = ran(ears, watch=SimpleNamespace(samples=samples, connections=run.watch.connections))
    assert broken(grown) == ["growth of memory of the part that grew most"]
    unseen = [one for one in run.watch.samples if one.role != "gcs"]
    missing = ran(ears, watch=SimpleNamespace(samples=unseen, connections=run.watch.connections))
    assert broken(missing) == ["parts of which no process lived long enough to be compared"]


def test_what_keeps_commits_may_grow_by_them_and_not_more(ears: Ears) -> None:
    run, intent = ran(ears), Intent("edit", (Correction(PERU, "Cusco"),))
    samples = [one for one in run.watch.samples if one.role != "valkey"]
    samples += lived("valkey", 99, 10**7, 10**7 + 2 * 10**6)
    watch = SimpleNamespace(samples=samples, connections=run.watch.connections)
    most = "growth of memory of the part that grew most"
    assert broken(ran(ears, watch=watch)) == [most]
    for version in range(200):
        ears.journal.acknowledge(intent, version + 1, True, [], 100.0)
    assert most not in broken(ran(ears, watch=watch))


def test_connections_that_come_while_nothing_is_harmed_are_a_leak(ears: Ears) -> None:
    samples = ran(ears).watch.samples
    rising = [(float(at), 11 + at // 300) for at in range(1_800)]
    watch = SimpleNamespace(samples=samples, connections=rising)
    assert "connections to Redis that came while nothing was harmed" in broken(
        ran(ears, minutes=30, watch=watch)
    )


def heard(ears: Ears, version: int, answer: str, edit: str, promise: Promise = NOTHING) -> None:
    said = {"version": version, "answer": answer, "edits": [edit], "degraded": None}
    ears.answered(0.0, {"question": PERU}, promise, said)


def failing(checks: list[Check]) -> int:
    return sum(not check.held for check in checks)
