"""A finished scope is found again by the training that made it, and by no other."""

from pathlib import Path

import torch

from models.scope.network import Scope
from models.training.progress import FinishedScope
from models.training.scope import among_many


def test_it_is_found_by_its_own_training_alone(tmp_path: Path) -> None:
    torch.manual_seed(1)
    scope = Scope()
    finished_scope, other = (
        FinishedScope(tmp_path / "scope", "mine"),
        FinishedScope(tmp_path / "scope", "other"),
    )
    assert finished_scope.load() is None
    finished_scope.save(scope)
    loaded_scope = finished_scope.load()
    assert loaded_scope is not None
    assert all(
        torch.equal(value, loaded_scope.state_dict()[name]) for name, value in scope.state_dict().items()
    )
    assert other.load() is None


def test_a_gate_among_many_needs_better_odds() -> None:
    torch.manual_seed(1)
    scope, cosines = Scope(), torch.rand(50, 4)
    stricter = among_many(scope, 4.0)
    torch.testing.assert_close(stricter.logit(cosines), scope.logit(cosines) - 4.0)
    assert stricter.open_bound >= scope.open_bound
