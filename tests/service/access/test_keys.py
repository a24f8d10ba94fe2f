"""A key is compared, never kept; a caller may do what the key's scopes say and no more."""

from __future__ import annotations

import pytest

from service.access.keys import Caller, Keyring, fingerprint
from service.errors import Forbidden, Unauthorized

KEY = "the-key-of-the-admin"


@pytest.fixture
def keyring() -> Keyring:
    return Keyring(fingerprint(KEY))


@pytest.mark.parametrize("header", [f"Bearer {KEY}", f"bearer {KEY}", f"BEARER  {KEY} "])
def test_the_right_key_is_known_however_it_is_written(keyring: Keyring, header: str) -> None:
    assert keyring.caller(header).name == "admin"


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer  ", KEY, f"Basic {KEY}", f"Bearer {KEY[:-1]}"]
)
def test_any_other_header_says_how_to_do_it_right(keyring: Keyring, header: str | None) -> None:
    with pytest.raises(Unauthorized, match="Authorization: Bearer KEY"):
        keyring.caller(header)


def test_the_key_itself_is_not_kept(keyring: Keyring) -> None:
    assert KEY not in repr(vars(keyring))


def test_a_scope_that_a_key_lacks_is_named() -> None:
    reader = Caller("auditor", ("read",))
    reader.check("read")
    with pytest.raises(Forbidden, match=r"auditor.*edit"):
        reader.check("edit")
