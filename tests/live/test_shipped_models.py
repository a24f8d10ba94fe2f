"""The models that are shipped, in a service as `make serve` starts it: every alert has something to look at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prometheus_client.samples import Sample

from service.config import SYSTEMS
from tests.cluster.running import Service, wait_until
from tests.deploy.observed import ALERTS
from tests.deploy.selectors import samples, selectors

NKB, KBERT = (f"{name}={loader}" for name, loader in SYSTEMS.items())
LOADED_S = 400.0  # on a machine that others use too


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Sample]]:
    """Of a service that has just been started, and that nobody has asked anything but whether it is ready."""
    service = Service(tmp_path_factory.mktemp("shipped") / "var", system=NKB, words=["--system", KBERT])
    service.launch()
    try:
        wait_until(lambda: "Ctrl-C stops" in service.said(), LOADED_S, "the service to be ready")
        with service.http() as http:
            http.get("/readyz").raise_for_status()
            shown = 'errata_edits_standing{state="broken"}'
            wait_until(lambda: shown in http.get("/metrics").text, 30, "the editor to have looked")
            yield samples(http.get("/metrics").text)
    finally:
        service.stop()


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_looks_at_what_is_there(alert: str, page: list[Sample]) -> None:
    looked_at = selectors(ALERTS[alert]["expr"])
    assert looked_at or alert == "ErrataDown", "which looks at Prometheus' own figure"
    assert [one.text for one in looked_at if not one.finds(page)] == []
