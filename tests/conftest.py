"""Every test checks shapes and starts from the same random seed.

beartype stands behind the types of `models` before any of it is imported; but not of `models.packs`, which has no
arrays, and where it would take ten times as long to read all the names.
"""

import gc
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from tests import hypotheses, shapes, sharing, tiers
from tests.durations import Durations
from tests.scheduling import BySharing

MODELS = Path(__file__).parents[1] / "models"

sharing.share_adapters()
sharing.share_certificates()
shapes.check([f"models.{part.stem}" for part in MODELS.iterdir() if part.name != "packs"])

hypotheses.load_profile()
torch.set_num_threads(1)  # several test processes share the cores, and threads would wait for each other


gc.disable()  # until the collection of tests ends: none of it is garbage, and it would be searched a dozen times


def pytest_addoption(parser: pytest.Parser) -> None:
    tiers.add_option(parser)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of other tiers before they are read."""
    return True if tiers.is_left_out(collection_path, config.getoption("--tier")) else None


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Durations(), "durations")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def device() -> torch.device:
    """Return the device for tests of models: ERRATA_TEST_DEVICE, by default the CPU."""
    from models.device import resolve_device  # not before its shapes are checked

    return resolve_device(os.environ.get("ERRATA_TEST_DEVICE", "cpu"))


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> BySharing:
    return BySharing(config, log)
