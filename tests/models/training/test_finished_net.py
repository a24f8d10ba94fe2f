"""A finished net of subjects is found again by the training that made it, and by no other."""

from pathlib import Path

import torch

from models.training.progress import FinishedNet
from models.training.subject_net import SubjectNet


def test_it_is_found_by_its_own_training_alone(tmp_path: Path) -> None:
    torch.manual_seed(1)
    net = SubjectNet()
    finished, other = (FinishedNet(tmp_path / "net", training) for training in ("mine", "other"))
    assert finished.load() is None
    finished.save(net)
    loaded_net = finished.load()
    assert loaded_net is not None
    loaded_weights = loaded_net.state_dict()
    assert all(torch.equal(value, loaded_weights[name]) for name, value in net.state_dict().items())
    assert other.load() is None
