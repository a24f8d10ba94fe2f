"""A question and an edit that end their process do so twice, under load, and cost no other request its answer."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from errata import Errata, errors

from tests.cluster.running import ROOT, Service, clean_environment
from tests.service.toy import FACTS
from tests.service.toy_crash import FATAL_ANSWER, FATAL_QUESTION

SYSTEM = "nkb=tests.service.toy_crash:load"
PERU = "What is the capital of Peru?"
N_ASKERS, N_WRITERS = 6, 3
BATCH = [*FACTS, FATAL_QUESTION, *FACTS]
FEW_S = 2.0  # time for which the others go on before and after

pytestmark = [pytest.mark.timeout(600), pytest.mark.alone]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("crashing") / "var"
    service = Service(folder, system=SYSTEM, replicas=2, words=["--ack-timeout-s", "60"])
    try:
        yield service.start()
    finally:
        service.stop()


class Load:
    """Clients that never try again: each failure is a lost request."""

    def __init__(self) -> None:
        self.done, self.failures = 0, list[str]()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, service: Service, call: Callable[[Errata, int], object], count: int) -> None:
        for client in range(count):
            thread = threading.Thread(target=self._repeat, args=(service, call, client), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _repeat(self, service: Service, call: Callable[[Errata, int], object], client: int) -> None:
        with service.errata(timeout_s=120) as errata:
            while not self._stop.is_set():
                try:
                    call(errata, client)
                    self.done += 1
                except errors.ErrataError as error:
                    self.failures.append(f"{type(error).__name__}: {error}")

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(120)


def ask(errata: Errata, client: int) -> None:
    question = list(FACTS)[client % len(FACTS)]
    assert errata.ask(question, min_version=None).answer is not None


def ask_many(errata: Errata, client: int) -> None:
    answers = errata.ask_many(list(FACTS))
    assert all(not isinstance(answer, errors.ErrataError) for answer in answers)


def write(errata: Errata, client: int) -> None:
    question = f"What does writer {client} say?"
    receipt = errata.edit(question, f"word {time.time_ns()}")
    assert receipt.version is not None
    errata.log(limit=1)
    errata.edit(question, "a trial", dry_run=True)


@contextmanager
def under_load(service: Service, *calls: tuple[Callable[[Errata, int], object], int]) -> Iterator[Load]:
    load = Load()
    for call, count in calls:
        load.start(service, call, count)
    try:
        time.sleep(FEW_S)
        yield load
        before = load.done
        time.sleep(FEW_S)
    finally:
        load.end()
    assert load.done > before
    assert load.failures == []


def deaths(service: Service, part: str) -> int:
    service.wait_until_ready()
    lines = (service.var / "log" / "errata.log").read_text().splitlines()
    return sum(f"{part} " in line and " died, " in line for line in lines)


def n_refused(service: Service, part: str) -> float:
    with service.http() as http:
        lines = http.get("/metrics").text.splitlines()
    [line] = [line for line in lines if line.startswith(f'errata_crashing_requests_total{{part="{part}"}}')]
    return float(line.split()[-1])


def test_a_question_that_ends_its_replica_is_refused_and_the_others_are_answered(service: Service) -> None:
    with (
        under_load(service, (ask, N_ASKERS), (ask_many, 2)),
        service.errata(timeout_s=120) as errata,
        pytest.raises(errors.Crashed) as refusal,
    ):
        errata.ask(FATAL_QUESTION)
    assert (refusal.value.status, refusal.value.in_doubt) == (500, False)
    assert str(refusal.value.extra("crash_id")) in str(refusal.value)
    assert deaths(service, "nkb") == 2
    assert n_refused(service, "nkb") == 1


def test_in_a_batch_it_spoils_no_other_question(service: Service) -> None:
    before = deaths(service, "nkb")
    with under_load(service, (ask, N_ASKERS)), service.http() as http:
        items = [{"question": question} for question in BATCH]
        replies = http.post("/v1/answers/batch", json={"questions": items}, timeout=120).json()["results"]
    codes = [(reply.get("problem") or {}).get("code") for reply in replies]
    assert codes == ["crashed" if question == FATAL_QUESTION else None for question in BATCH]
    assert deaths(service, "nkb") - before == 2


def test_an_edit_that_ends_the_editor_is_refused_and_the_others_are_made(service: Service) -> None:
    words = ["-c", "from errata.cli import main; main()", "edit", PERU, FATAL_ANSWER]
    environment = {
        **clean_environment(),
        "ERRATA_URL": service.url,
        "ERRATA_KEY": service.key,
        "COLUMNS": "200",
    }
    with under_load(service, (write, N_WRITERS), (ask, 1)):
        result = subprocess.run(
            [sys.executable, *words], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
        )
    assert result.returncode == 1, result.stderr
    assert "nothing was changed" in result.stderr
    assert "[crashed]" in result.stderr
    assert deaths(service, "editor") == 2
    with service.errata() as errata:
        assert errata.ask(PERU).answer == FACTS[PERU]
        assert not [commit for commit in errata.log(limit=500).versions if PERU in str(commit)]
    assert n_refused(service, "editor") == 1
