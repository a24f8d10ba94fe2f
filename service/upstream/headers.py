"""Which headers cross to an upstream and back: all but those of one connection, and the secrets of the caller.

RFC 9110, section 7.6.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from http import HTTPStatus

Headers = list[tuple[bytes, bytes]]

OF_CONNECTION = {
    *(b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization"),
    *(b"te", b"trailer", b"transfer-encoding", b"upgrade"),
}
MARK = b"x-errata-"
# The caller's key and session are for Errata; the address and the length are those of the new request
NOT_SENT = OF_CONNECTION | {b"host", b"content-length", b"authorization", b"cookie", b"expect"}
NOT_RETURNED = OF_CONNECTION | {b"date", b"server"}  # the ingress writes its own
OTHER_KEYS = {b"x-api-key", b"api-key"}  # headers in which other vendors' clients send a key


def to_send(headers: Iterable[tuple[bytes, bytes]], key: str | None) -> Headers:
    """Return the headers of a request to an upstream, with the upstream's key in place of the caller's."""
    headers = list(headers)
    secrets = [
        value.split()[-1] for name, value in headers if name.lower() == b"authorization" and value.strip()
    ]
    passing = [
        (name, value)
        for name, value in _keep(headers, NOT_SENT if key is None else NOT_SENT | OTHER_KEYS)
        if not any(secret in value for secret in secrets)
    ]
    return passing if key is None else [*passing, (b"authorization", f"Bearer {key}".encode())]


def to_return(headers: Iterable[tuple[bytes, bytes]], status: int, url: str) -> Headers:
    """Return the headers of an upstream's reply, repeated ones too, without a length that is not the body's.

    Args:
        url: Its address, which stays private: a redirect there leads to ours.
    """
    headers = [
        (name, b"/v1" + text.removeprefix(url.encode()) if text.startswith(url.encode()) else text)
        for name, text in headers
    ]
    is_framed = status == HTTPStatus.NOT_MODIFIED or any(
        name.lower() == b"transfer-encoding" for name, _ in headers
    )
    return _keep(headers, NOT_RETURNED | {b"content-length"} if is_framed else NOT_RETURNED)


def _keep(headers: Iterable[tuple[bytes, bytes]], without: Set[bytes]) -> Headers:
    lower = [(name.lower(), value.strip(b" \t")) for name, value in headers]
    options = {
        word.strip().lower() for name, value in lower if name == b"connection" for word in value.split(b",")
    }
    return [
        (name, value)
        for name, value in lower
        if name not in without and name not in options and not name.startswith(MARK)
    ]
