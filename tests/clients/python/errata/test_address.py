"""An unusable address or key is named before anything is sent."""

from __future__ import annotations

import httpx
import pytest
from errata import AsyncErrata, Errata
from errata.address import is_loopback
from errata.errors import BadAddress
from errata.mcp.stdio import RemoteRoutes


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "ftp://host",
        "http://",
        "",
        "http://a:b:c",
        "http://host:99999",
        "http://host:0",
        "http://a..b",
        "http://" + "a" * 64,
    ],
)
def test_an_address_that_is_none_is_named(url: str) -> None:
    with pytest.raises(BadAddress) as error:
        Errata(url)
    assert repr(url) in str(error.value)


@pytest.mark.parametrize(
    "part", ["http://user:secret@host", "http://host/?token=secret", "http://host/#secret"]
)
def test_an_address_with_more_than_a_place_is_refused_without_repeating_it(part: str) -> None:
    """A name and a password before the @ would be sent instead of the key."""
    with pytest.raises(BadAddress, match="leave out the part before the @") as error:
        Errata(part)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("key", ["", "a b", "clé", "a\nb"])
def test_a_key_that_cannot_be_sent_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(BadAddress, match="printable ASCII"):
        AsyncErrata(key=key)


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:8000", True),
        ("http://localhost:1", True),
        ("http://10.0.0.1", False),
        ("http://localhost.example.com", False),
        ("http://127.0.0.1.example.com", False),
    ],
)
def test_only_this_machine_is_this_machine(url: str, is_local: bool) -> None:
    assert is_loopback(httpx.URL(url)) is is_local


@pytest.mark.parametrize(
    ("url", "uses_proxy"), [("http://127.0.0.1:8000", False), ("http://errata.example", True)]
)
def test_the_tools_send_no_key_through_a_proxy_to_the_loopback_address(
    monkeypatch: pytest.MonkeyPatch, url: str, uses_proxy: bool
) -> None:
    proxies: list[object] = []
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    monkeypatch.setattr(
        httpx.AsyncClient, "_init_proxy_transport", lambda self, proxy, **options: proxies.append(proxy)
    )
    RemoteRoutes(url, {"authorization": "Bearer key"})
    assert bool(proxies) is uses_proxy
