"""The log and the metrics of an ingress when it begins, is ready, and ends."""

from __future__ import annotations

import pytest
from prometheus_client import REGISTRY

from service.config import Settings
from service.http import ingress
from service.http.ingress import Ingress


def read_metric(name: str) -> float:
    return REGISTRY.get_sample_value(name, {"part": "ingress"}) or 0


async def test_an_ingress_that_is_asked_to_end_has_not_died(
    config: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingress, "freeze_gc", lambda: None)
    n_starts, n_ends = read_metric("errata_process_starts_total"), read_metric("errata_process_ends_total")
    app = Ingress(config, {}, None).__serve_build_asgi_app__()  # type: ignore[arg-type]  # it is not asked
    async with app.router.lifespan_context(app):
        assert read_metric("errata_process_starts_total") == n_starts + 1
        assert read_metric("errata_processes") == 1
        assert read_metric("errata_process_start_time_seconds") > 0
    assert read_metric("errata_process_ends_total") == n_ends + 1
    assert read_metric("errata_processes") == 0
