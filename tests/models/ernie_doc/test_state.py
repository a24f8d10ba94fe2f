"""States stay in memory within a bound; what was used last stays longest."""

import torch

from models.ernie_doc.state import RecentStates, State


def state(digest: str) -> State:
    return State("origin", digest, 3, 40, torch.randn(2, 4, 8))


def test_states_keep_to_their_bound() -> None:
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
