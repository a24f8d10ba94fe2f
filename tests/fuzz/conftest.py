"""The number of examples: the same few in every `make test`; with `--fuzz N` (`make fuzz`) more, and others."""

from collections.abc import Iterator
from random import randrange

import pytest

from tests.service.http.serving import Service, serve_in_thread

SEED = 20_261_121


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz", type=int, default=1, help="how many times as many examples as usual")
    parser.addoption("--fuzz-seed", type=int, help="with which the examples are made again")


@pytest.fixture(scope="session")
def times(request: pytest.FixtureRequest) -> int:
    """Return by how much the usual number of examples is multiplied."""
    return int(request.config.getoption("--fuzz", default=1))


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest, times: int) -> int:
    """Return the seed; a failure is repeated with `--fuzz-seed`."""
    option: int | None = request.config.getoption("--fuzz-seed", default=None)
    seed = option or (SEED if times == 1 else randrange(1, 2**31))
    print(f"\nfuzzed with --fuzz-seed {seed}")
    return seed


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run a service as where others can connect: everything needs a key."""
    with serve_in_thread(tmp_path_factory.mktemp("fuzzed"), anonymous_access="none") as service:
        yield service
