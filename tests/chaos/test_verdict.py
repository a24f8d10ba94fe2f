"""The judge of chaos runs notices each broken promise."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from errata.wire import EditState, VersionDetail

from tests.chaos.journal import Correction, Intent, Journal
from tests.chaos.questions import GRAPH
from tests.chaos.recorder import LATE_S, Promise, Recorder
from tests.chaos.run import Options, Run
from tests.chaos.scene import FaultResult
from tests.chaos.truth import ExpectedAnswer, Truth
from tests.chaos.verdict import Check, check_answers, check_commits, judge
from tests.chaos.watch import ROLES, Sample, Window, growth, together

PERU = "What is the capital of Peru?"
OTHERWISE = "Peru's?"
NO_PROMISE = Promise(0)


def commit(
    version: int, kind: str, *edits: EditState, message: str = "", target: int | None = None
) -> VersionDetail:
    now = datetime.now(UTC)
    rest: dict[str, Any] = {"checksums": {}, "writes": {}, "report": {}, "author": "somebody", "time": now}
    return VersionDetail(
        version=version, kind=kind, message=message, target=target, edits=list(edits), **rest
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
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    journal = Journal(tmp_path / "journal.jsonl")
    yield Recorder(journal)
    journal.close()


def test_every_version_has_its_own_answer(truth: Truth) -> None:
    answers = [truth.at(version, PERU).answer for version in range(7)]
    assert answers == ["Lima", "Cusco", "Puno", "Cusco", "Puno", "Lima", "Puno"]
    assert [truth.at(version, OTHERWISE).answer for version in (0, 2, 5)] == [None, "Cusco", None]


def test_a_gate_answers_before_a_row() -> None:
    truth = Truth(
        [commit(1, "edit", edit("a", "Cusco")), commit(2, "edit", edit("b", "Puno", method="surgery"))]
    )
    assert truth.at(2, PERU) == ExpectedAnswer("Cusco", ("a",))


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
    truth: Truth, recorder: Recorder, version: int, answer: str, edits: str, wrong: int
) -> None:
    record(recorder, version, answer, edits)
    assert count_failing(check_answers(recorder, truth)) == wrong


@pytest.mark.parametrize(
    ("version", "question", "away", "answer"),
    [
        (0, PERU, (), "Lima"),
        (1, PERU, (), "Cusco"),
        (1, PERU, ("nkb",), "Lima"),
        (1, PERU, ("atlas",), "Cusco"),
        (0, f"Tell me: {PERU}", (), "Lima"),
        (0, f"Tell me: {PERU}", ("atlas",), None),
        (0, "Who wrote Hamlet?", ("nkb",), None),
    ],
)
def test_what_auto_has_to_answer_depends_on_the_systems_that_are_there(
    version: int, question: str, away: Sequence[str], answer: str | None
) -> None:
    truth = Truth([commit(1, "edit", edit("a", "Cusco"))], GRAPH)
    assert truth.at(version, question, away).answer == answer


def test_a_batch_of_two_versions_is_counted_unless_it_pins_one(truth: Truth, recorder: Recorder) -> None:
    answers = [{"version": 2}, {"version": 1}, None]
    recorder.record_batch([{}, {"version": 1}, {}], answers)
    assert count_failing(check_answers(recorder, truth)) == 0
    recorder.record_batch([{}, {}, {}], answers)
    assert count_failing(check_answers(recorder, truth)) == 1


@pytest.mark.parametrize(
    ("promise", "broken"),
    [(Promise(2), 0), (Promise(3), 1), (Promise(0, 2), 0), (Promise(0, 1), 1)],
)
def test_an_answer_older_than_promised_is_counted(
    truth: Truth, recorder: Recorder, promise: Promise, broken: int
) -> None:
    record(recorder, 2, "Puno", "b", promise)
    assert count_failing(check_answers(recorder, truth)) == broken


def test_what_every_replica_confirmed_is_promised_to_who_asks_for_nothing(recorder: Recorder) -> None:
    intent = Intent("edit", (Correction(PERU, "Cusco"),))
    recorder.journal.acknowledge(intent, 4, True, ["a"], 0.0)
    recorder.journal.acknowledge(intent, 5, False, ["b"], 0.0)
    assert recorder.promise_for({"question": PERU}) == Promise(4)
    assert recorder.promise_for({"question": PERU, "min_version": 5}) == Promise(5)
    assert recorder.promise_for({"question": PERU, "version": 1}) == Promise(0, 1)


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
    truth: Truth, recorder: Recorder, status: int, code: str, strange: int
) -> None:
    recorder.begin_fault("valkey")
    recorder.record_refusal(status, code, "why")
    assert count_failing(check_answers(recorder, truth)) == strange


def test_without_harm_no_refusal_is_explained(truth: Truth, recorder: Recorder) -> None:
    recorder.begin_fault("valkey")
    recorder.end_fault()
    recorder.record_refusal(503, "ledger_unavailable", "it was sent before")
    assert count_failing(check_answers(recorder, truth)) == 0
    recorder.end_s -= LATE_S
    recorder.record_refusal(503, "ledger_unavailable", "why")
    assert count_failing(check_answers(recorder, truth)) == 1


def test_what_was_acknowledged_has_to_be_there_once_and_as_it_was_asked_for(recorder: Recorder) -> None:
    intent = Intent("edit", (Correction(PERU, "Cusco"),))
    recorder.journal.begin(intent)
    recorder.journal.acknowledge(intent, 1, True, ["a"], 0.0)
    first = commit(1, "edit", edit("a", "Cusco"), message=intent.key)
    again = commit(2, "edit", edit("b", "Cusco"), message=intent.key)
    assert count_failing(check_commits(recorder.journal, [first])) == 0
    assert count_failing(check_commits(recorder.journal, [])) == 1
    assert count_failing(check_commits(recorder.journal, [first, again])) == 1
    other = commit(1, "edit", edit("a", "Puno"), message=intent.key)
    assert count_failing(check_commits(recorder.journal, [other])) == 1
    assert count_failing(check_commits(recorder.journal, [first, commit(2, "edit", message="nobody's")])) == 1


def test_growth_is_each_process_against_itself_once_it_is_warm() -> None:
    window = Window(begin=60, end=200, warm_s=60, least_s=50)
    lasting = [
        Sample(at, 1, "editor", at, rss, 10) for at, rss in [(30, 50), (60, 100), (120, 110), (200, 120)]
    ]
    dead = [Sample(at, 2, "replica", at, 100 * at, 10) for at in (60, 100)]
    fresh = [Sample(at, 3, "replica", at - 150, 100 * at, 10) for at in (160, 200)]
    parts = growth([*lasting, *dead, *fresh], window, "rss")
    assert [(part.role, part.before, part.after) for part in parts] == [("editor", 100, 120)]
    assert together(parts).share == pytest.approx(0.2)


def fault_result(name: str, silence_s: float = 0.0, missing: str | None = None) -> FaultResult:
    return FaultResult(name, name, 40.0, 45.0, 50.0, silence_s, 9, {}, (), missing)


def samples_of(role: str, pid: int, before: int, after: int, seconds: float = 300) -> list[Sample]:
    times = map(float, range(0, int(seconds), 10))
    return [Sample(at, pid, role, at, before if at < 0.6 * seconds else after, 10) for at in times]


def make_run(recorder: Recorder, minutes: float = 5.0, **changes: Any) -> Run:
    """Make a run that kept every promise; `changes` replace fields of it."""
    took_s = 60.0 * minutes
    roles = enumerate(ROLES.values())
    samples = [sample for pid, role in roles for sample in samples_of(role, pid, 10**8, 10**8, took_s)]
    fields: dict[str, Any] = {
        "options": Options(minutes, 1, 64, 4, Path()),
        "journal": recorder.journal,
        "recorder": recorder,
        "watch": SimpleNamespace(samples=samples, connections=[(float(at), 11) for at in range(int(took_s))]),
        "results": [fault_result("valkey")],
        "skipped": [],
        "unmet": [],
        "commits": [],
        "wrong_sums": [],
        "took_s": took_s,
    }
    return Run(**(fields | changes))


def list_broken(run: Run) -> list[str]:
    return [check.description for check in judge(run) if not check.is_kept]


def test_silence_is_for_those_who_are_alone_to_answer(recorder: Recorder) -> None:
    assert (
        list_broken(make_run(recorder, results=[fault_result("replicas", 20.0), fault_result("valkey", 4.9)]))
        == []
    )
    (description,) = list_broken(make_run(recorder, results=[fault_result("replica", 5.1)]))
    assert "5 s without an answer" in description


def test_one_part_that_grows_is_not_hidden_by_the_others(recorder: Recorder) -> None:
    run = make_run(recorder)
    samples = [sample for sample in run.watch.samples if sample.role != "gcs"] + samples_of(
        "gcs", 99, 10**8, 106 * 10**6
    )
    run_that_grew = make_run(
        recorder, watch=SimpleNamespace(samples=samples, connections=run.watch.connections)
    )
    assert list_broken(run_that_grew) == ["growth of memory of the part that grew most"]
    samples = [sample for sample in run.watch.samples if sample.role != "gcs"]
    run_without_gcs = make_run(
        recorder, watch=SimpleNamespace(samples=samples, connections=run.watch.connections)
    )
    assert list_broken(run_without_gcs) == ["parts of which no process lived long enough to be compared"]


def record(recorder: Recorder, version: int, answer: str, edit: str, promise: Promise = NO_PROMISE) -> None:
    body = {"version": version, "answer": answer, "edits": [edit], "degraded": None}
    recorder.record_answer(0.0, {"question": PERU}, promise, body)


def count_failing(checks: list[Check]) -> int:
    return sum(not check.is_kept for check in checks)
