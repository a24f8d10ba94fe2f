"""A small Backpack with random weights."""

import pytest
import torch

from models.backpack.config import BackpackConfig
from models.backpack.network import Backpack

CONFIG = BackpackConfig(
    vocab=40, words=37, senses=4, width=16, layers=2, heads=2, positions=24, epsilon=1e-5, end=0
)


@pytest.fixture(scope="session")
def backpack() -> Backpack:
    torch.manual_seed(3)
    model = Backpack(CONFIG)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model.eval().requires_grad_(False)
