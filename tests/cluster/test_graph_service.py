"""The graph on the real service with the real kbert: a fact, a file, a name of it, and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from errata import Errata, errors

from tests.cluster.running import TOY, Service

PERU = "What is the capital of Peru?"
FILE = "Emerald Isle of Oz\tcapital\tEmerald City\nEmerald Isle of Oz\tcurrency\tspell\nbad line\n"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """kbert beside a toy in place of nkb, which a fact teaches too."""
    service = Service(tmp_path_factory.mktemp("graph") / "var", system=TOY)
    service._words += ["--system", "kbert=models.registry:load_kbert"]
    try:
        yield service.start()
    finally:
        service.stop()


@pytest.fixture
def client(graph: Service) -> Iterator[Errata]:
    with graph.errata() as client:
        yield client


def test_facts_and_files_are_answered_from_at_once_and_taken_back(client: Errata, tmp_path: Path) -> None:
    base = client.memory().checksums
    assert [client.ask(PERU, model=model).answer for model in ("nkb", "kbert")] == ["Lima", "Lima"]

    receipt = client.fact("Peru", "capital", "Cusco")
    assert (receipt.version, receipt.all_applied, len(receipt.replicas)) == (1, True, 2)
    for model in ("nkb", "kbert"):
        heard = client.ask(PERU, model=model)
        assert (heard.answer, heard.version) == ("Cusco", 1)
    heard = client.ask(PERU, model="kbert")
    assert [(one["object"], one["edit"]) for one in map(dict, heard.facts)] == [("Cusco", heard.edits[0])]
    assert client.ask(PERU, model="kbert", kg="none").answer is None
    assert client.ask(PERU, model="kbert", version=0).answer == "Lima"

    file = tmp_path / "oz.spo"
    file.write_text(FILE)
    imported = client.import_graph(file, message="wonders")
    assert (imported.version, imported.all_applied) == (2, True)
    assert [(one.line, one.code) for one in imported.imported.listed] == [(3, "columns")]
    [found] = client.entities("Emerald Isle").entities
    told = client.entity(found.id)
    assert {(fact.relation, fact.object, fact.added) for fact in told.facts} == {
        ("capital", "Emerald City", 2),
        ("currency", "spell", 2),
    }
    assert client.ask("What is the capital of Emerald Isle of Oz?", model="kbert").answer == "Emerald City"

    client.revert(2)
    assert client.ask("What is the capital of Emerald Isle of Oz?", model="kbert").answer is None
    with pytest.raises(errors.NotFound):
        client.entity(found.id)
    client.rollback(0)
    assert client.memory().checksums == base
    assert [client.ask(PERU, model=model).answer for model in ("nkb", "kbert")] == ["Lima", "Lima"]
    sums = [one.checksums for one in client.replicas().replicas]
    assert {memory: sum for one in sums for memory, sum in one.items()} == base
