"""A key is compared, never kept; a caller may do what the key's scopes say and no more."""

from __future__ import annotations

import time

import pytest

from service.access.caller import Caller
from service.access.issued import IssuedKey, Secret, fingerprint, name_in, new_key
from service.access.keys import Keyring
from service.access.remembered import Remembered
from service.errors import Forbidden, Unauthorized
from tests.service.access.conftest import InMemory

KEY = "the-key-of-the-admin"


@pytest.fixture
def keyring(register: InMemory) -> Keyring:
    return Keyring(fingerprint(KEY), Remembered(register))


@pytest.mark.parametrize("header", [f"Bearer {KEY}", f"bearer {KEY}", f"BEARER  {KEY} "])
async def test_the_right_key_is_known_however_it_is_written(keyring: Keyring, header: str) -> None:
    assert (await keyring.caller(header)).name == "admin"


@pytest.mark.parametrize(
    "header",
    [
        *(None, "", "Bearer", "Bearer  ", KEY, f"Basic {KEY}", f"Bearer {KEY[:-1]}"),
        *("Bearer errata_", "Bearer errata_anna", "Bearer errata_anna_", "Bearer errata__x", "Bearer a.b.c"),
    ],
)
async def test_any_other_header_says_how_to_do_it_right(keyring: Keyring, header: str | None) -> None:
    with pytest.raises(Unauthorized, match="Authorization: Bearer KEY"):
        await keyring.caller(header)


def test_the_key_itself_is_not_kept(keyring: Keyring) -> None:
    assert KEY not in repr(vars(keyring))


def test_a_scope_that_a_key_lacks_is_named() -> None:
    reader = Caller("auditor", ("read",))
    reader.check("read")
    with pytest.raises(Forbidden, match=r"auditor.*edit"):
        reader.check("edit")


async def test_an_issued_key_opens_under_its_owners_name_and_nobody_elses(
    keyring: Keyring, register: InMemory
) -> None:
    _, anna = await register.issue("anna", ("ask", "edit"), None, "admin")
    _, ben = await register.issue("ben", ("ask",), None, "admin")
    assert await keyring.caller(f"Bearer {anna}") == Caller("anna", ("ask", "edit"))
    forged = anna.replace("errata_anna_", "errata_ben_")
    for wrong in (forged, anna[:-1], anna + "x", anna.replace("anna", "nobody")):
        with pytest.raises(Unauthorized):
            await keyring.caller(f"Bearer {wrong}")
    assert (await keyring.caller(f"Bearer {ben}")).name == "ben"


def test_two_keys_of_one_name_differ_and_tell_whose_they_are() -> None:
    assert new_key("anna") != new_key("anna")
    assert name_in(new_key("an-na@x.org")) == "an-na@x.org"
    assert name_in("sk-something-else") is None


@pytest.mark.parametrize("key", [f"errata_{'x' * 65}_secret", "errata__secret", "errata_anna"])
def test_what_can_be_nobodys_key_is_looked_for_nowhere(key: str) -> None:
    assert name_in(key) is None


def issued(until: float | None, key: str) -> IssuedKey:
    secrets = (Secret(sha256=fingerprint(key)),)
    return IssuedKey(
        name="anna", scopes=("ask",), created=0, created_by="admin", expires=until, secrets=secrets
    )


def test_a_key_opens_until_its_end_and_not_at_it() -> None:
    key = issued(100.0, "old")
    assert key.opened_by("old", 99.9)
    assert not key.opened_by("old", 100.0)


def test_a_rotated_key_opens_with_both_until_the_overlap_ends() -> None:
    key = issued(None, "old").followed_by("new", now=50.0, keep_old_s=10.0)
    assert [key.opened_by(one, 59.9) for one in ("old", "new")] == [True, True]
    assert [key.opened_by(one, 60.0) for one in ("old", "new")] == [False, True]


def test_rotating_makes_nothing_live_longer_than_it_was_to() -> None:
    key = issued(100.0, "old").followed_by("new", now=50.0, keep_old_s=1_000.0)
    assert key.expires == 100.0
    assert not any(key.opened_by(one, 100.0) for one in ("old", "new"))


def test_rotating_without_overlap_ends_the_old_one_at_once() -> None:
    key = issued(None, "old").followed_by("new", now=50.0, keep_old_s=0.0)
    assert [key.opened_by(one, 50.0) for one in ("old", "new")] == [False, True]
    assert len(key.secrets) == 1


def test_what_is_kept_of_a_key_does_not_open_it(keyring: Keyring) -> None:
    key = issued(None, "the-secret")
    assert "the-secret" not in key.model_dump_json()
    assert not key.opened_by(key.secrets[0].sha256, time.time())
