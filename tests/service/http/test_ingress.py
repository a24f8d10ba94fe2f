"""What the ingress tells of itself when it begins, is ready, and ends."""

from __future__ import annotations

import pytest
from prometheus_client import REGISTRY

from service.config import Settings
from service.http import ingress
from service.http.ingress import Ingress


def shown(name: str) -> float:
    return REGISTRY.get_sample_value(name, {"part": "ingress"}) or 0


async def test_an_ingress_that_is_asked_to_end_has_not_died(
    chosen: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingress, "freeze_gc", lambda: None)
    started, ended = shown("errata_process_starts_total"), shown("errata_process_ends_total")
    app = Ingress(chosen, {}, None).__serve_build_asgi_app__()  # type: ignore[arg-type]  # nobody asks it
    async with app.router.lifespan_context(app):
        assert shown("errata_process_starts_total") == started + 1
        assert shown("errata_processes") == 1
        assert shown("errata_process_start_time_seconds") > 0
    assert shown("errata_process_ends_total") == ended + 1
    assert shown("errata_processes") == 0
