"""The address and the key of the service, checked before anything is sent."""

from __future__ import annotations

from ipaddress import ip_address

import httpx

import errata
from errata.errors import BadAddress

DEFAULT_URL = "http://127.0.0.1:8000"
MAY_BE_SECRET = "@?#"  # an address with one of these may have a password or a token in it


def base_url(url: str) -> httpx.URL:
    """Parse the URL that paths are joined to; raise BadAddress, which names the mistake, but never a password."""
    label = f"the address {url!r}" if not set(url) & set(MAY_BE_SECRET) else "the address"
    try:
        address = httpx.URL(url.strip().rstrip("/"))
        address.host.encode("idna")  # the system does the same when it looks the name up
    except (httpx.InvalidURL, UnicodeError) as error:
        why = f": {error}" if repr(url) in label else ""
        raise BadAddress(f"{label} is not a URL{why}") from error
    if address.scheme not in ("http", "https") or not address.host:
        raise BadAddress(f"{label} must start with http:// or https://, as {DEFAULT_URL} does")
    if address.userinfo or address.query or address.fragment:
        advice = (
            "leave out the part before the @ and after ? or #; a key goes into `key`, --key or ERRATA_KEY"
        )
        raise BadAddress(
            f"the address of {address.host} has more in it than a host, a port and a path: {advice}"
        )
    if address.port is not None and not 0 < address.port < 65_536:
        raise BadAddress(f"{label} has no port between 1 and 65535")
    return address


def is_loopback(address: httpx.URL) -> bool:
    """Return True if requests stay on this machine."""
    if address.host == "localhost":
        return True
    try:
        return ip_address(address.host).is_loopback
    except ValueError:
        return False


def build_headers(key: str | None) -> dict[str, str]:
    """Build the headers of every request; raise BadAddress when the key cannot be sent in one."""
    common = {"accept": "application/json", "user-agent": f"errata-python/{errata.__version__}"}
    if key is None:
        return common
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise BadAddress("the key must be printable ASCII without spaces; was it copied whole?")
    return common | {"authorization": f"Bearer {key}"}
