"""Random histories of an editor: edits, reverts and rollbacks. A refused step changes nothing, so any may be tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st

Step: TypeAlias = tuple[Any, ...]  # edit, revert or rollback, with its argument


def histories(*edit: st.SearchStrategy[str]) -> st.SearchStrategy[Sequence[Step]]:
    """Return a strategy for histories. edit: strategies for the arguments of an edit."""
    step = st.one_of(
        st.tuples(st.just("edit"), *edit),
        st.tuples(st.just("revert"), st.integers(1, 8)),
        st.tuples(st.just("rollback"), st.integers(0, 8)),
    )
    return st.lists(step, min_size=3, max_size=10)
