"""The folder of states is bounded, keeps what was used last, and trusts no damaged file."""

from pathlib import Path

import pytest
import torch

from models.ernie_doc.reading.state import State, decode
from models.ernie_doc.reading.store import RecentStates, StateStore


def state(digest: str) -> State:
    return State("origin", digest, 3, 40, torch.randn(2, 4, 8))


SIZE = len(state("0").encode())


def test_a_state_comes_back_bit_for_bit() -> None:
    expected = state("a")
    actual = decode(expected.encode())
    assert actual.memory.equal(expected.memory)
    assert (actual.origin, actual.digest, actual.n_segments, actual.n_tokens) == ("origin", "a", 3, 40)


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
