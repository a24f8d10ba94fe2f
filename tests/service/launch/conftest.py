"""A folder that is claimed as a launcher claims it, and signals that go to the test alone."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.launch import signals as exits
from service.launch.places import Places, claim, free_port


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    with claim(tmp_path / "var", "127.0.0.1", free_port()) as places:
        yield places


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Send Ctrl-C to the test alone while it runs."""
    before = {number: signal.getsignal(number) for number in exits.STOP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
