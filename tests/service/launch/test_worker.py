"""A process of Ray listens on this machine alone, or not at all."""

import pytest

from service.launch.worker import to_loopback


def test_all_interfaces_become_this_machine() -> None:
    assert to_loopback("[::]:8123") == to_loopback("127.0.0.1:8123") == "127.0.0.1:8123"


@pytest.mark.parametrize("address", ["0.0.0.0:8123", "[::1%eth0]:8123", "10.0.0.7:8123", "*:8123"])
def test_another_address_is_refused(address: str) -> None:
    with pytest.raises(RuntimeError, match="not known to be private"):
        to_loopback(address)
