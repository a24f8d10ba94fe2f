"""Headers that cross to an upstream and back."""

import pytest

from service.upstream.headers import to_return, to_send

CALLER = [(b"Authorization", b"Bearer caller-key")]


def test_a_callers_key_crosses_under_no_name() -> None:
    headers = [*CALLER, (b"x-api-key", b"caller-key"), (b"api-key", b"another"), (b"X-A", b"bar ")]
    assert to_send(headers, "ours") == [(b"x-a", b"bar"), (b"authorization", b"Bearer ours")]
    assert to_send(headers, None) == [(b"api-key", b"another"), (b"x-a", b"bar")]


@pytest.mark.parametrize(
    ("further", "status", "has_length"),
    [([], 200, True), ([], 304, False), ([(b"Transfer-Encoding", b"chunked")], 200, False)],
)
def test_a_length_returns_only_if_it_is_the_bodys(
    further: list[tuple[bytes, bytes]], status: int, has_length: bool
) -> None:
    headers = to_return([(b"content-length", b"5"), *further], status, "http://10.0.0.5/v1")
    assert headers == ([(b"content-length", b"5")] if has_length else [])


def test_a_redirect_of_the_upstream_leads_to_ours_and_shows_no_private_address() -> None:
    url = "http://10.0.0.5:8000/v1"
    for location, expected in (
        (f"{url}/files/", "/v1/files/"),
        ("https://elsewhere/x", "https://elsewhere/x"),
    ):
        assert to_return([(b"location", location.encode())], 307, url) == [(b"location", expected.encode())]
