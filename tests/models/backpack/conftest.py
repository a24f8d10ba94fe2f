"""A small Backpack with random weights, and a checkpoint of one."""

import pytest
import torch

from models.backpack.memory import SensesMemory
from models.backpack.network import Backpack
from models.backpack.reader import Reader
from models.backpack.senses import BackpackConfig
from models.backpack.system import BackpackSystem
from tests.models.backpack.tiny import write_checkpoint

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


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory, device: torch.device) -> Reader:
    """A checkpoint that no test changes."""
    return Reader.load(write_checkpoint(tmp_path_factory.mktemp("backpack")), device)


@pytest.fixture(scope="module")
def memory(reader: Reader) -> SensesMemory:
    return SensesMemory(reader)


@pytest.fixture(scope="module")
def system(reader: Reader) -> BackpackSystem:
    return BackpackSystem(reader)
