"""Who a caller is: the admin by a key, and others by theirs."""

import os
import stat
from pathlib import Path

import pytest

from service.access.access import Authenticator
from service.access.admin_key import BadKey, load_admin_key
from service.access.api_keys import fingerprint, generate_key
from service.access.caller import Caller
from service.access.key_cache import KeyCache
from service.errors import Forbidden, TooMany, Unauthorized
from tests.service.access.conftest import MemoryStore

KEY = "the-key-of-the-admin"


@pytest.fixture
def authenticator(memory_store: MemoryStore) -> Authenticator:
    return Authenticator(fingerprint(KEY), KeyCache(memory_store.get))


@pytest.mark.parametrize("header", [f"Bearer {KEY}", f"bearer {KEY}", f"BEARER  {KEY} "])
async def test_the_right_key_is_known_however_it_is_written(
    authenticator: Authenticator, header: str
) -> None:
    assert (await authenticator.authenticate(header)).name == "admin"


@pytest.mark.parametrize(
    "header",
    [
        *(None, "", "Bearer", "Bearer  ", KEY, f"Basic {KEY}", f"Bearer {KEY[:-1]}"),
        *("Bearer errata_", "Bearer errata_anna", "Bearer errata_anna_", "Bearer errata__x", "Bearer a.b.c"),
    ],
)
async def test_any_other_header_says_how_to_do_it_right(
    authenticator: Authenticator, header: str | None
) -> None:
    with pytest.raises(Unauthorized, match="Authorization: Bearer KEY"):
        await authenticator.authenticate(header)


def test_the_key_itself_is_not_stored(authenticator: Authenticator) -> None:
    assert KEY not in repr(vars(authenticator))


def test_a_scope_that_a_key_lacks_is_named() -> None:
    reader = Caller("auditor", ("read",))
    reader.check("read")
    with pytest.raises(Forbidden, match=r"auditor.*edit"):
        reader.check("edit")


class Tokens:
    """An issuer with one good token."""

    n_checks = 0

    async def verify(self, token: str) -> Caller:
        self.n_checks += 1
        if token != "good.token.x":
            raise Unauthorized("forged")
        return Caller("oidc:anna", ("ask",), "token")


async def test_beyond_its_limit_no_signature_is_checked_for_an_address(memory_store: MemoryStore) -> None:
    tokens, n_counted = Tokens(), 0

    async def count() -> None:
        nonlocal n_counted
        n_counted += 1
        if n_counted > 3:
            raise TooMany("beyond the limit")

    authenticator = Authenticator(fingerprint(KEY), KeyCache(memory_store.get), tokens)
    for number in range(2):
        with pytest.raises(Unauthorized):
            await authenticator.authenticate(f"Bearer a.b.{number}", count)
    for _ in range(5):
        assert (await authenticator.authenticate("Bearer good.token.x", count)).name == "oidc:anna"
    with pytest.raises(TooMany):
        await authenticator.authenticate("Bearer a.b.c", count)
    assert (n_counted, tokens.n_checks) == (4, 7), "a good token is counted once, and checked each time"
    assert (await authenticator.authenticate("Bearer good.token.x", count)).name == "oidc:anna"


async def test_an_issued_key_works_under_its_owners_name_and_nobody_elses(
    authenticator: Authenticator, memory_store: MemoryStore
) -> None:
    anna, ben = memory_store.issue("anna", "ask", "edit"), memory_store.issue("ben", "ask")
    assert await authenticator.authenticate(f"Bearer {anna}") == Caller("anna", ("ask", "edit"))
    forgery = anna.replace("errata_anna_", "errata_ben_")
    for wrong in (forgery, anna[:-1], anna + "x", anna.replace("anna", "nobody")):
        with pytest.raises(Unauthorized):
            await authenticator.authenticate(f"Bearer {wrong}")
    assert (await authenticator.authenticate(f"Bearer {ben}")).name == "ben"


def test_the_first_start_makes_a_key_and_the_next_one_finds_it(tmp_path: Path) -> None:
    first = load_admin_key(tmp_path, None)
    assert len(first) >= 40
    assert load_admin_key(tmp_path, None) == first
    assert [path.name for path in tmp_path.iterdir()] == ["admin.key"]


def test_two_services_never_have_the_same_key(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert load_admin_key(tmp_path / "a", None) != load_admin_key(tmp_path / "b", None)


def test_only_its_owner_can_read_it_even_when_somebody_changed_that(tmp_path: Path) -> None:
    load_admin_key(tmp_path, None)
    (tmp_path / "admin.key").chmod(0o644)
    load_admin_key(tmp_path, None)
    assert stat.S_IMODE((tmp_path / "admin.key").stat().st_mode) == 0o600


def test_a_file_system_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", _cannot)
    assert load_admin_key(tmp_path, None) == load_admin_key(tmp_path, None)
    assert [path.name for path in tmp_path.iterdir()] == ["admin.key"]


def test_a_key_that_cannot_be_closed_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_admin_key(tmp_path, None)
    monkeypatch.setattr(Path, "chmod", _cannot)
    assert load_admin_key(tmp_path, None), "it is closed already"
    os.chmod(tmp_path / "admin.key", 0o644)
    with pytest.raises(BadKey, match=r"others may read .*admin\.key"):
        load_admin_key(tmp_path, None)


def _cannot(*_: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def test_a_key_from_outside_is_used_and_written_nowhere(tmp_path: Path) -> None:
    assert load_admin_key(tmp_path, "from-the-environment") == "from-the-environment"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "weak", ["", "qwertz", "with spaces in the middle of it", "tab\tin-the-middle-of-it"]
)
def test_a_weak_key_is_refused_and_not_repeated(tmp_path: Path, weak: str) -> None:
    with pytest.raises(BadKey, match="ERRATA_ADMIN_KEY") as refusal:
        load_admin_key(tmp_path, weak)
    assert not weak or weak not in str(refusal.value)


@pytest.mark.parametrize("place", ["variable", "file"])
def test_a_key_that_was_issued_to_somebody_is_no_admin_key(tmp_path: Path, place: str) -> None:
    """Its owner would have become the admin of a new service, if it was exported for the command."""
    curators_key = generate_key("anna")
    (tmp_path / "admin.key").write_text(curators_key)
    with pytest.raises(BadKey, match="looks like the one that was issued to 'anna': give another") as refusal:
        load_admin_key(tmp_path, curators_key if place == "variable" else None)
    assert curators_key not in str(refusal.value)


def test_an_empty_key_file_opens_nothing(tmp_path: Path) -> None:
    (tmp_path / "admin.key").touch()
    with pytest.raises(BadKey, match=r"admin\.key"):
        load_admin_key(tmp_path, None)
