"""A key is compared, never stored; a caller may do what the key's scopes say and no more."""

from __future__ import annotations

import pytest

from service.access.access import Authenticator, KeyCache
from service.access.api_keys import fingerprint
from service.access.caller import Caller
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
