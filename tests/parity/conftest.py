"""Where the golden vectors lie: `--golden FOLDER`, or GOLDEN in the environment, or `golden` beside this file.

A folder per system; for each system every `NAME.config.json` is one case, and a folder with one `config.json` is
one case of that system, the folder itself. Vectors that cannot be found are an
error and not a skip: a run without them proves nothing.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.one_thread import one_thread as one_thread

DEFAULT = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", default=None, help="folder with golden vectors, one folder per system")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `golden_case` every case of the system that the test file is named after."""
    if "golden_case" not in metafunc.fixturenames:
        return
    system = metafunc.module.__name__.rpartition("test_")[2]
    folder = golden(metafunc.config) / system
    names = sorted(path.name.removesuffix(".config.json") for path in folder.glob("*.config.json"))
    cases = [folder / name for name in names] or [path.parent for path in folder.glob("config.json")]
    if not cases:
        raise pytest.UsageError(
            f"no golden vectors for {system}: {folder} holds no *.config.json and no config.json. "
            f"Name the folder above it with `--golden FOLDER` or `make parity GOLDEN=FOLDER`."
        )
    metafunc.parametrize("golden_case", cases, ids=[case.name for case in cases], scope="module")


@pytest.fixture(autouse=True)
def no_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


def golden(config: pytest.Config) -> Path:
    folder = config.getoption("--golden", default=None) or os.environ.get("GOLDEN")
    return Path(folder) if folder else DEFAULT
