"""How long it is tried: a fixed number of examples in `make test`, more with `--fuzz N` (`make fuzz`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz.serving import Served, serving


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz", type=int, default=1, help="how many times as many examples as usual")


@pytest.fixture(scope="session")
def times(request: pytest.FixtureRequest) -> int:
    """How many times as many examples as usual."""
    return int(request.config.getoption("--fuzz", default=1))


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """As where others can connect: everything needs a key."""
    with serving(tmp_path_factory.mktemp("fuzzed"), asking="keys") as served:
        yield served
