"""The folder of states is bounded, keeps what was used last, and trusts no damaged file."""

from pathlib import Path

import pytest
import torch

from models.ernie_doc.reading.state import State, StateError, decode
from models.ernie_doc.reading.store import RecentStates, States, StateStore


def state(digest: str) -> State:
    return State("origin", digest, 3, 40, torch.randn(2, 4, 8))


SIZE = len(state("0").encode())


def test_a_state_comes_back_bit_for_bit() -> None:
    expected = state("a")
    actual = decode(expected.encode())
    assert actual.memory.equal(expected.memory)
    assert (actual.origin, actual.digest, actual.n_segments, actual.n_tokens) == ("origin", "a", 3, 40)


def test_the_state_used_least_recently_is_deleted_first(tmp_path: Path) -> None:
    store = StateStore(tmp_path, 3 * SIZE)
    for name in "abc":
        store.put(state(name))
    store.get("a")
    store.put(state("d"))
    assert [name in store for name in "abcd"] == [True, False, True, True]
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["a", "c", "d"]


def test_the_order_of_use_survives_a_restart(tmp_path: Path) -> None:
    store = StateStore(tmp_path, 3 * SIZE)
    for name in "abc":
        store.put(state(name))
    store.get("a")
    again = StateStore(tmp_path, 3 * SIZE)
    again.put(state("d"))
    assert [name in again for name in "abcd"] == [True, False, True, True]


def test_a_smaller_bound_deletes_at_the_start(tmp_path: Path) -> None:
    store = StateStore(tmp_path, 3 * SIZE)
    for name in "abc":
        store.put(state(name))
    StateStore(tmp_path, SIZE)
    assert [path.stem for path in tmp_path.iterdir()] == ["c"]


def test_a_state_above_the_bound_is_not_kept(tmp_path: Path) -> None:
    store = StateStore(tmp_path, SIZE - 1)
    store.put(state("a"))
    assert store.get("a") is None
    assert list(tmp_path.iterdir()) == []


def test_putting_a_state_twice_keeps_it_once(tmp_path: Path) -> None:
    store = StateStore(tmp_path, 2 * SIZE)
    for name in "aab":
        store.put(state(name))
    assert "a" in store
    assert "b" in store


@pytest.mark.parametrize("damage", ["cut", "bit", "other", "gone", "noise"])
def test_a_damaged_state_is_deleted_and_read_again(tmp_path: Path, damage: str) -> None:
    store = StateStore(tmp_path, 10 * SIZE)
    store.put(state("a"))
    path = tmp_path / "a.safetensors"
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        last = bytes([content[-1] ^ 1])
        changes = {
            "cut": content[:-7],
            "bit": content[:-1] + last,
            "other": state("b").encode(),
            "noise": b"\xff" * 40,
        }
        path.write_bytes(changes[damage])
    assert store.get("a") is None
    assert "a" not in store
    assert not path.exists()


def test_half_a_file_of_an_earlier_life_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "a.partial").write_bytes(b"half")
    StateStore(tmp_path, SIZE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"\x80\x04N.", b"\x02\x00\x00\x00\x00\x00\x00\x00{}"])
def test_bytes_that_are_no_state_are_refused(content: bytes) -> None:
    with pytest.raises(StateError, match="no state of a document"):
        decode(content)


def test_states_in_memory_keep_to_their_bound() -> None:
    size = state("a").memory.nbytes
    states = RecentStates(2 * size)
    for digest in ("a", "b"):
        states.put(state(digest))
    assert states.get("a") is not None
    states.put(state("c"))
    assert [states.get(digest) is not None for digest in "abc"] == [True, False, True]
    small = RecentStates(size - 1)
    small.put(state("a"))
    assert small.get("a") is None


def test_both_stores_are_used_alike(tmp_path: Path) -> None:
    assert isinstance(RecentStates(1), States)
    assert isinstance(StateStore(tmp_path, 1), States)
