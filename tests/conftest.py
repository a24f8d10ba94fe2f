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
from tests.scheduling import RECORD, BySharing, sort_tests

MODELS = Path(__file__).parents[1] / "models"

sharing.share_adapters()
sharing.share_certificates()
shapes.check([f"models.{part.stem}" for part in MODELS.iterdir() if part.name != "packs"])

hypotheses.load_profile()
torch.set_num_threads(1)  # several test processes share the cores, and threads would wait for each other


gc.disable()  # until the collection of tests ends: none of it is garbage, and it would be searched a dozen times


def pytest_addoption(parser: pytest.Parser) -> None:
    tiers.add_option(parser)
    parser.addoption("--shortest-first", action="store_true", help="run the files in the opposite order")
    parser.addoption(
        "--record-seconds", action="store_true", help=f"write {RECORD.name}, by which files are ordered"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of other tiers before they are read."""
    return True if tiers.is_left_out(collection_path, config.getoption("--tier")) else None


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Durations(), "durations")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    sort_tests(items, config.getoption("--shortest-first"))


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
    """Seed the generators; for a device that is not in use yet, `torch.manual_seed` would note the stack each time."""
    torch.default_generator.manual_seed(0)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(0)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> BySharing:
    return BySharing(config, log)
