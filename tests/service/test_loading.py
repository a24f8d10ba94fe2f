"""Loaded systems are frozen, so that a full garbage collection does not hold up answers."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.loading import load_system
from tests.service.parts import settings


@pytest.fixture
def unfrozen_gc() -> Iterator[None]:
    """Unfreeze everything, and collect what earlier tests have left; what they left open is not this test's fault."""
    gc.unfreeze()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("unfrozen_gc")
def test_a_loaded_system_is_spared_by_the_collector(tmp_path: Path) -> None:
    n_objects = len(gc.get_objects())
    bundle = load_system(settings("redis://127.0.0.1:1", tmp_path), "toy")
    assert bundle.system.name == "toy"
    assert gc.get_freeze_count() > 0.9 * n_objects
    assert len(gc.get_objects()) < 0.1 * n_objects
