"""Keys: made once, changed by one caller at a time, never readable again."""

import asyncio
import time

import pytest

from service.access.api_keys import KEYS, KeyStore, generate_key, parse_name
from service.errors import InvalidInput, KeyTaken, LedgerUnavailable, NotFound
from service.ledger.connection import Connection
from tests.service.access.conftest import api_key


@pytest.fixture
def store(connection: Connection) -> KeyStore:
    return KeyStore(connection)


def test_two_keys_of_one_name_differ_and_tell_whose_they_are() -> None:
    assert generate_key("anna") != generate_key("anna")
    assert parse_name(generate_key("an-na@x.org")) == "an-na@x.org"


@pytest.mark.parametrize(
    "key", [f"errata_{'x' * 65}_secret", "errata__secret", "errata_anna", "sk-something-else"]
)
def test_a_key_that_was_not_made_here_names_nobody(key: str) -> None:
    assert parse_name(key) is None


@pytest.mark.parametrize(
    ("expires", "keep_old_s", "now", "secrets"),
    [
        (None, 10.0, 59.9, ["old", "new"]),
        (None, 10.0, 60.0, ["new"]),
        (100.0, 1_000.0, 99.9, ["old", "new"]),
        (100.0, 1_000.0, 100.0, []),
        (None, 0.0, 50.0, ["new"]),
    ],
)
def test_a_rotated_key_accepts_the_old_secret_until_the_overlap_ends_and_none_after_its_own_end(
    expires: float | None, keep_old_s: float, now: float, secrets: list[str]
) -> None:
    key = api_key("old", expires=expires).rotate("new", now=50.0, keep_old_s=keep_old_s)
    assert key.expires == expires
    assert len(key.secrets) == (2 if keep_old_s else 1)
    assert [secret for secret in ("old", "new") if key.accepts(secret, now)] == secrets


def test_a_key_is_accepted_until_its_end_and_not_at_it() -> None:
    key = api_key("old", expires=100.0)
    assert [key.accepts("old", now) for now in (99.9, 100.0)] == [True, False]


def test_the_record_of_a_key_does_not_open_it() -> None:
    key = api_key("the-secret")
    assert "the-secret" not in key.model_dump_json()
    assert not key.accepts(key.secrets[0].sha256, time.time())


async def test_a_key_that_was_made_is_found_and_accepted(store: KeyStore) -> None:
    key, secret = await store.issue("anna", ("ask", "edit"), None, "admin")
    assert await store.get("anna") == key
    assert key.accepts(secret, time.time())
    assert await store.get("ben") is None


async def test_nothing_in_redis_opens_anything(store: KeyStore, connection: Connection) -> None:
    _, secret = await store.issue("anna", ("ask",), None, "admin")
    records: dict[bytes, bytes] = await connection.commands.hgetall(KEYS)
    assert secret.split("_", 2)[2].encode() not in b"".join([*records, *records.values()])


async def test_a_name_is_given_once_and_not_again_after_it_was_revoked(store: KeyStore) -> None:
    await store.issue("anna", ("ask",), None, "admin")
    with pytest.raises(KeyTaken, match="anna"):
        await store.issue("anna", ("admin",), None, "mallory")
    await store.revoke("anna")
    with pytest.raises(KeyTaken, match="another name"):
        await store.issue("anna", ("ask",), None, "admin")


async def test_of_many_who_make_a_key_of_one_name_one_succeeds(store: KeyStore) -> None:
    attempts = (store.issue("anna", ("ask",), None, str(number)) for number in range(10))
    results = await asyncio.gather(*attempts, return_exceptions=True)
    assert sum(isinstance(result, KeyTaken) for result in results) == 9


async def test_rotations_at_the_same_time_lose_no_secret(store: KeyStore) -> None:
    await store.issue("anna", ("ask",), None, "admin")
    rotations = await asyncio.gather(*(store.rotate("anna", 60.0) for _ in range(3)))
    key = await store.get("anna")
    assert key is not None
    assert all(key.accepts(secret, time.time()) for _, secret in rotations)


async def test_a_revoked_key_opens_nothing_and_cannot_be_rotated_back(store: KeyStore) -> None:
    _, secret = await store.issue("anna", ("ask",), None, "admin")
    assert not (await store.revoke("anna")).accepts(secret, time.time())
    for attempt in (store.revoke("anna"), store.rotate("anna", 0.0), store.rotate("ben", 0.0)):
        with pytest.raises(NotFound, match="errata keys list"):
            await attempt


async def test_nobody_passes_for_the_services_own(store: KeyStore) -> None:
    for name in ("admin", "nobody", "Admin", "ADMIN", "NoBody"):
        assert not await store.restore(api_key("its", name))
        with pytest.raises(KeyTaken, match="another name"):
            await store.issue(name, ("ask",), None, "admin")
        assert await store.get(name) is None


async def test_a_key_that_has_ended_is_rotated_into_one_that_ends_later_or_not_at_all(
    store: KeyStore,
) -> None:
    await store.issue("anna", ("ask",), time.time() - 1.0, "admin")
    with pytest.raises(InvalidInput, match="expires_in_s"):
        await store.rotate("anna", 0.0)
    key, secret = await store.rotate("anna", 0.0, 60.0)
    assert key.accepts(secret, time.time())
    assert not key.accepts(secret, time.time() + 61.0)


async def test_a_change_whose_reply_was_lost_may_be_sent_again(store: KeyStore) -> None:
    key, _ = await store.issue("anna", ("ask",), None, "admin")
    assert await store.swap("anna", b"", key)
    assert not await store.swap("anna", b"", key.model_copy(update={"created_by": "ben"}))


async def test_all_are_listed_by_name(store: KeyStore) -> None:
    for name in ("carla", "anna", "ben"):
        await store.issue(name, ("ask",), None, "admin")
    await store.revoke("ben")
    assert [key.name for key in await store.all()] == ["anna", "ben", "carla"]


async def test_without_redis_it_says_so(nowhere: Connection) -> None:
    with pytest.raises(LedgerUnavailable, match="look a key up"):
        await KeyStore(nowhere).get("anna")
