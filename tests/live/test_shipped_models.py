"""The models that are shipped, in a service as `make serve` starts it.

Every alert has something to look at; a fact, a file of facts and a name of it are answered from, and taken back.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from errata import Errata, errors
from prometheus_client.samples import Sample

from models.systems import DEFAULT_SYSTEMS
from tests.cluster.running import Service, quiet_port, wait_until
from tests.deploy.selectors import find_selectors, samples
from tests.deploy.test_prometheus import ALERTS

FIRST, *FURTHER = DEFAULT_SYSTEMS
LOADED_S = 400.0  # on a machine with other work

pytestmark = pytest.mark.timeout(600)


PERU = "What is the capital of Peru?"
FILE = "Emerald Isle of Oz\tcapital\tEmerald City\nEmerald Isle of Oz\tcurrency\tspell\nbad line\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    upstream = ["--upstream", f"team=http://127.0.0.1:{quiet_port()}/v1"]
    service = Service(
        tmp_path_factory.mktemp("shipped") / "var",
        system=FIRST,
        words=[word for name in FURTHER for word in ("--system", name)] + upstream,
    )
    service.launch()
    try:
        wait_until(lambda: "Ctrl-C stops" in service.read_output(), LOADED_S, "the service to be ready")
        yield service
    finally:
        service.stop()


@pytest.fixture(scope="module")
def page(service: Service) -> list[Sample]:
    """Return the page before any call but the probes."""
    with service.http() as http:
        wait_until(lambda: http.get("/readyz").status_code == 200, 10, "every model to answer")
        series = 'errata_edits_standing{state="broken"}'
        wait_until(lambda: series in http.get("/metrics").text, 30, "the editor to have looked")
        return samples(http.get("/metrics").text)


def test_a_start_names_what_it_waits_for(service: Service) -> None:
    lines = [line for line in service.read_output().splitlines() if line.endswith("...")]
    assert [line.split()[:2] for line in lines] == [
        ["Errata", "is"],
        ["Starting", "Ray"],
        ["Starting", "Ray"],
        ["Loading", "nkb,"],
    ]


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_looks_at_what_is_there(alert: str, page: list[Sample]) -> None:
    looked_at = find_selectors(ALERTS[alert]["expr"])
    assert looked_at or alert == "ErrataDown", "which looks at Prometheus' own figure"
    assert [selector.text for selector in looked_at if not selector.finds(page)] == []


@pytest.fixture
def client(service: Service) -> Iterator[Errata]:
    with service.errata() as client:
        yield client


def test_facts_and_files_are_answered_from_at_once_and_taken_back(client: Errata, tmp_path: Path) -> None:
    base = client.memory().checksums
    assert [client.ask(PERU, model=model).answer for model in ("nkb", "kbert")] == ["Lima", "Lima"]

    receipt = client.fact("Peru", "capital", "Cusco")
    assert (receipt.version, receipt.all_applied, len(receipt.replicas)) == (1, True, 2)
    for model in ("nkb", "kbert"):
        answer = client.ask(PERU, model=model)
        assert (answer.answer, answer.version) == ("Cusco", 1)
    answer = client.ask(PERU, model="kbert")
    assert [(fact["object"], fact["edit"]) for fact in map(dict, answer.facts)] == [
        ("Cusco", answer.edits[0])
    ]
    assert client.ask(PERU, model="kbert", kg="none").answer is None
    assert client.ask(PERU, model="kbert", version=0).answer == "Lima"

    file = tmp_path / "oz.spo"
    file.write_text(FILE)
    receipt_of_file = client.import_graph(file, message="wonders")
    assert (receipt_of_file.version, receipt_of_file.all_applied) == (2, True)
    assert [(line.line, line.code) for line in receipt_of_file.counts.rejected_lines] == [(3, "columns")]
    [entity] = client.entities("Emerald Isle").entities
    details = client.entity(entity.id)
    assert {(fact.relation, fact.object, fact.added_in) for fact in details.facts} == {
        ("capital", "Emerald City", 2),
        ("currency", "spell", 2),
    }
    assert client.ask("What is the capital of Emerald Isle of Oz?", model="kbert").answer == "Emerald City"

    client.revert(2)
    assert client.ask("What is the capital of Emerald Isle of Oz?", model="kbert").answer is None
    with pytest.raises(errors.NotFound):
        client.entity(entity.id)
    client.rollback(0)
    assert client.memory().checksums == base
    assert [client.ask(PERU, model=model).answer for model in ("nkb", "kbert")] == ["Lima", "Lima"]
    sums = [replica.checksums for replica in client.replicas().replicas]
    assert {memory: sum for checksums in sums for memory, sum in checksums.items()} == base
