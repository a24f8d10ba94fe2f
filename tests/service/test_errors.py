"""The error tree is a public contract: codes and statuses are what clients branch on."""

import pickle
from collections.abc import Iterator

import pytest

from service.errors import ErrataError, StaleVersion

EXPECTED = {
    "malformed_json": 400,
    "invalid_input": 422,
    "unknown_model": 404,
    "not_found": 404,
    "unauthorized": 401,
    "forbidden": 403,
    "stale_version": 409,
    "version_ahead": 503,
    "too_large": 413,
    "too_slow": 408,
    "unsupported_media_type": 415,
    "too_many": 429,
    "edit_refused": 422,
    "add_or_set": 409,
    "similar_name": 409,
    "breaks_tests": 409,
    "memory_full": 409,
    "key_taken": 409,
    "ledger_not_empty": 409,
    "nothing_to_do": 409,
    "proposal_closed": 409,
    "ambiguous": 409,
    "graph_moved": 409,
    "ledger_unavailable": 503,
    "ledger_corrupt": 503,
    "not_ready": 503,
    "crashed": 500,
    "internal": 500,
}


def leaves(kind: type[ErrataError] = ErrataError) -> Iterator[type[ErrataError]]:
    for child in kind.__subclasses__():
        yield from leaves(child) if child.__subclasses__() else (child,)


LEAVES = sorted(leaves(), key=lambda kind: kind.__name__)


def test_every_promised_code_has_its_status_and_nothing_else_exists() -> None:
    assert {kind.code: kind.status for kind in LEAVES} == EXPECTED
    assert len(LEAVES) == len(EXPECTED)


@pytest.mark.parametrize("kind", LEAVES)
def test_an_error_survives_the_way_between_processes(kind: type[ErrataError]) -> None:
    error = kind("what to do", replica="a", version=3)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.detail, copy.extras) == (kind, error.detail, {"replica": "a", "version": 3})


def test_a_stale_writer_learns_where_the_ledger_is() -> None:
    error = pickle.loads(pickle.dumps(StaleVersion.at(current=7, expected=4)))
    assert error.extras == {"current": 7, "expected": 4}
    assert "version 7" in str(error)
