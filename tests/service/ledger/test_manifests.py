"""Manifests are few, and the distance to the nearest one is at most the version's own number."""

from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from service.ledger.manifests import N_NEWEST, surplus


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
