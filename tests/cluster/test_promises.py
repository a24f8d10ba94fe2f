"""The promises for answers and edits hold on two replicas under load."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import pytest
from errata import EditItem, Errata, errors
from errata.wire import Answer

from tests.cluster.running import Service

PERU = "What is the capital of Peru?"
FLIPS = 25
CALLERS = 4
COLOURS = ("red", "green", "blue")


@pytest.fixture(autouse=True)
def _as_found(errata: Errata) -> Iterator[None]:
    start = errata.log().head
    yield
    if errata.diff(start, errata.log().head).changes:
        errata.rollback(start)


class Hammer:
    """Callers that ask one question as fast as they can, until the end of the block."""

    def __init__(self, service: Service, batch: int = 1) -> None:
        self._service, self._batch, self._stop = service, batch, threading.Event()
        self.answers: list[Answer] = []
        self.threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(CALLERS)]

    def _ask(self) -> None:
        with self._service.errata() as client:
            while not self._stop.is_set():
                results = client.ask_many([PERU] * self._batch, min_version=None).results
                self.answers += [result.answer for result in results if result.answer]

    def __enter__(self) -> Hammer:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop.set()
        for thread in self.threads:
            thread.join(30)


def test_no_read_is_torn_whatever_the_load(service: Service, errata: Errata) -> None:
    """The version, the content and the edits of every answer agree."""
    content = {errata.log().head: ("Lima", [])}
    with Hammer(service, batch=8) as hammer:
        for flip in range(FLIPS):
            receipt = errata.edit(PERU, f"City {flip}")
            assert receipt.version is not None
            content[receipt.version] = (f"City {flip}", [receipt.report.edits[0].id])
    labels = {(answer.version, answer.answer, tuple(answer.edits)) for answer in hammer.answers}
    assert len({version for version, _, _ in labels}) > FLIPS / 2, (
        "the hammer has to see versions come and go"
    )
    assert labels <= {(version, text, tuple(edits)) for version, (text, edits) in content.items()}


def test_what_was_written_is_read_by_everybody_who_asks_afterwards(service: Service, errata: Errata) -> None:
    """With wait=all no answer is older, though the callers themselves name no version."""
    with Hammer(service), service.errata() as other:
        for flip in range(FLIPS):
            receipt = errata.edit(PERU, f"City {flip}")
            assert receipt.all_applied
            replies = [other.ask(PERU, min_version=None) for _ in range(4)]
            assert {(a.answer, a.version) for a in replies} == {(f"City {flip}", receipt.version)}


def test_a_question_with_min_version_never_hears_an_older_answer(errata: Errata) -> None:
    for flip in range(FLIPS):
        receipt = errata.edit(PERU, f"City {flip}", wait="none")
        answer = errata.ask(PERU)  # the client sends the version that it wrote
        assert (answer.answer, answer.version) == (f"City {flip}", receipt.version)


def test_every_version_can_be_pinned_and_one_batch_may_pin_many(errata: Errata) -> None:
    base = errata.log().head
    contents = {base: "Lima"}
    for flip in range(12):  # more versions than a replica keeps
        version = errata.edit(PERU, f"City {flip}").version
        assert version is not None
        contents[version] = f"City {flip}"
    order = random.Random(7).sample(sorted(contents), len(contents)) * 4
    results = errata.ask_many([{"question": PERU, "version": version} for version in order]).results
    labels = [(result.answer.version, result.answer.answer) for result in results if result.answer]
    assert labels == [(version, contents[version]) for version in order]


@pytest.mark.parametrize("method", ["gated", "surgery"])
def test_taking_commits_back_leaves_what_would_be_there_without_them(errata: Errata, method: str) -> None:
    """Random commits; then random ones are reverted in random order: every row as if they had never been."""
    chance = random.Random(method)
    questions = [f"What is the colour of box {box}?" for box in range(4)]
    versions, sums, live = [], {}, []
    for step in range(10):
        pair = chance.sample(questions, 2)
        items = [{"question": question, "answer": chance.choice(COLOURS) + f" {step}"} for question in pair]
        version = errata.edit_many([EditItem.model_validate(item) for item in items], method=method).version
        live.append(version)
        versions.append(version)
        sums[tuple(live)] = errata.memory().checksums
    first_five = tuple(versions[:5])
    for version in chance.sample(versions[5:], 5):
        errata.revert(version)
    assert errata.memory().checksums == sums[first_five]
    for version in chance.sample(versions[:5], 5):
        errata.revert(version)
    assert errata.diff(versions[0] - 1, errata.log().head).checksums_differ == {"toy/table": False}
    assert len({str(replica.checksums) for replica in errata.replicas().replicas}) == 1


def test_of_two_who_expect_the_same_version_one_is_told_that_it_moved(errata: Errata) -> None:
    head = errata.log().head
    errata.edit(PERU, "Cusco", expected_version=head)
    with pytest.raises(errors.StaleVersion) as stale:
        errata.edit(PERU, "Puno", expected_version=head)
    assert stale.value.current == head + 1
    assert errata.ask(PERU).answer == "Cusco"


def test_a_repeated_write_is_answered_with_its_first_result(errata: Errata) -> None:
    first = errata.edit(PERU, "Cusco", idempotency_key="once-and-once-only", wait_report=True)
    again = errata.edit(PERU, "Cusco", idempotency_key="once-and-once-only", wait_report=True)
    assert again.version == first.version
    assert again.report.edits == first.report.edits
    assert errata.log().head == first.version
