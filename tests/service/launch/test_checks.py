"""Too little memory is told in one sentence before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from models.systems import DEFAULT_SYSTEMS, SYSTEMS
from service.config import Settings
from service.launch import places as checks
from service.launch.ledger import CannotStart
from service.launch.places import check_memory
from tests.service.parts import settings


def of_systems(tmp_path: Path, *names: str, **options: Any) -> Settings:
    return settings("unix:///x", tmp_path, systems={name: SYSTEMS[name] for name in names}, **options)


@pytest.mark.parametrize(
    ("names", "replicas", "too_few_gb", "enough_gb"),
    [(DEFAULT_SYSTEMS, 1, 2.0, 3.5), (DEFAULT_SYSTEMS, 2, 3.5, 4.2), (tuple(SYSTEMS), 1, 4.2, 6.5)],
)
def test_the_systems_and_their_replicas_need_memory(
    names: tuple[str, ...],
    replicas: int,
    too_few_gb: float,
    enough_gb: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choice = of_systems(tmp_path, *names, replicas=replicas)
    monkeypatch.setattr(checks, "count_memory", lambda: int(enough_gb * 1e9))
    check_memory(choice)
    monkeypatch.setattr(checks, "count_memory", lambda: int(too_few_gb * 1e9))
    with pytest.raises(CannotStart, match=rf"there are {too_few_gb} GB .*{names[-1]}.* at least \d\.\d GB"):
        check_memory(choice)
