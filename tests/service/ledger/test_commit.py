"""A commit is read back as it was written, or not at all.

Manifests are few, and the distance to the nearest one is at most the version's own number.
An empty ledger gets our layout; data of another layout, newer or older, is left alone.
"""

import json
import pickle
from bisect import bisect_right
from dataclasses import replace

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from service.errors import LedgerCorrupt, LedgerUnavailable
from service.ledger.commit import Commit, canonical, edit_order, new_edit_id
from service.ledger.connection import Connection
from service.ledger.keys import SCHEMA
from service.ledger.layout_version import LAYOUT, check_layout
from service.ledger.manifests import N_NEWEST, surplus
from tests.service.ledger.writing import SLOTS, Writer


@pytest.fixture
def commit() -> Commit:
    return Writer().edit(3)[0]


def test_a_commit_comes_back_equal_and_byte_for_byte_the_same(commit: Commit) -> None:
    back = Commit.decode(commit.encoded, 1)
    assert back == commit
    assert canonical(json.loads(back.encoded)) == commit.encoded == replace(back).encoded


def test_equal_commits_have_equal_digests_whatever_order_their_maps_were_filled_in(commit: Commit) -> None:
    reversed_writes = replace(commit, writes=dict(reversed(list(commit.writes.items()))))
    assert list(reversed_writes.writes) != list(commit.writes)
    assert reversed_writes.digest == commit.digest


@pytest.mark.parametrize(
    "change", [{"author": "bob"}, {"message": "x"}, {"previous": "y"}, {"report": {"changed": []}}]
)
def test_whatever_is_changed_changes_the_digest(commit: Commit, change: dict[str, object]) -> None:
    assert replace(commit, **change).digest != commit.digest  # type: ignore[arg-type]


def alter(commit: Commit, **changes: object) -> bytes:
    return json.dumps({**json.loads(commit.encoded), **changes}).encode()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": "1"}, "version"),
        ({"kind": "merge"}, "kind"),
        ({"edits": [{"id": "a"}]}, "edits.0.model"),
        ({"writes": {SLOTS: {"checksum": 5}}}, f"writes.{SLOTS}.checksum"),
        ({"surprise": 1}, "surprise"),
        ({"time": None}, "time"),
        ({"version": 2}, "calls itself version 2"),
        ({"format": 2}, "start a newer Errata"),
        ({"format": 2, "surprise": 1}, "start a newer Errata"),
    ],
)
def test_an_entry_of_another_shape_is_named_with_its_field(
    commit: Commit, changes: dict[str, object], reason: str
) -> None:
    with pytest.raises(LedgerCorrupt, match="entry of version 1 ") as error:
        Commit.decode(alter(commit, **changes), 1)
    assert reason in str(error.value)
    assert error.value.extras == {"version": 1}


@pytest.mark.parametrize("data", [b"", b"{", b"null", b"[]", b"\xff\xfe", b'{"version": 1}', b'"format"'])
def test_bytes_that_are_no_commit_are_damage_and_not_a_crash(data: bytes) -> None:
    with pytest.raises(LedgerCorrupt, match=r"entry of version 7 .*backup"):
        Commit.decode(data, 7)


def test_a_number_that_json_cannot_say_is_refused_before_it_is_written(commit: Commit) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        Commit.decode(replace(commit, report={"ms": float("nan")}).encoded)


def test_edits_stand_in_the_order_of_their_commits_and_then_of_their_places() -> None:
    assert edit_order(1, 0) < edit_order(1, 999) < edit_order(2, 0)


def test_edit_ids_are_short_and_do_not_repeat() -> None:
    ids = {new_edit_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert {len(name) for name in ids} == {12}


def test_a_packed_commit_is_the_same_in_less_room() -> None:
    report = {"side_effects": [{"question": f"q {n}", "before": "a", "after": "b"} for n in range(200)]}
    commit = Commit(1, "edit", "anna", 1.0, "why", report=report)
    packed = commit.packed()
    assert (packed, packed.digest, packed.encoded) == (commit, commit.digest, commit.encoded)
    assert dict(packed.report) == report
    assert packed.report.get("request") is None
    assert packed.packed() is packed
    assert len(pickle.dumps(commit.packed())) < len(pickle.dumps(commit)) / 5


@given(every=st.integers(1, 300), count=st.integers(1, 400))
def test_few_stay_and_no_old_version_is_far_from_one(every: int, count: int) -> None:
    versions: list[int] = []
    for version in range(every, every * count + 1, every):
        versions.append(version)
        deletes = surplus(versions)
        versions = [version for version in versions if version not in deletes]
    newest = every * count
    assert versions[-N_NEWEST:] == list(range(every, newest + 1, every))[-N_NEWEST:]
    assert len(versions) <= N_NEWEST + 2 * newest.bit_length()
    for version in range(every, newest + 1, every):
        nearest = versions[bisect_right(versions, version) - 1] if version >= versions[0] else 0
        assert version - nearest <= max(newest - version, every)


def test_nothing_is_dropped_of_a_few() -> None:
    assert surplus([256, 512, 768, 1024]) == []


async def test_an_empty_ledger_gets_our_layout_and_is_read_again(
    connection: Connection, raw: redis.Redis
) -> None:
    await check_layout(connection)
    assert raw.get(SCHEMA) == str(LAYOUT).encode()
    await check_layout(connection)


@pytest.mark.parametrize(("number", "age"), [(99, "newer"), (2, "older")])
async def test_data_of_another_layout_is_left_alone(
    connection: Connection, raw: redis.Redis, number: int, age: str
) -> None:
    raw.set(SCHEMA, number)
    with pytest.raises(LedgerUnavailable, match=rf"layout {number}, .*start the {age} one"):
        await check_layout(connection)
    assert raw.get(SCHEMA) == str(number).encode()
