"""Requests of several parts, and how the service is put behind an ingress."""

import json
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from service.config import Settings
from service.errors import TooLarge
from service.http import ingress
from service.http.body import SLICE_BYTES, PartCounter
from service.http.ingress import Ingress

LIMIT = 16_000
VALUES = st.recursive(
    st.none() | st.integers() | st.text('a"\\{}[]:,é\n\u2028'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('b"\\:'), inner),
    max_leaves=30,
)


def count_parts(value: object) -> int:
    """Count texts, colons, commas and opening brackets."""
    if isinstance(value, dict):
        return 1 + 2 * len(value) + max(0, len(value) - 1) + sum(map(count_parts, value.values()))
    if isinstance(value, list):
        return 1 + max(0, len(value) - 1) + sum(map(count_parts, value))
    return int(isinstance(value, str))


@given(VALUES, st.integers(1, 9), st.booleans())
def test_the_parts_of_a_body_are_counted_wherever_it_is_cut(value: object, size: int, is_ascii: bool) -> None:
    counter, body = PartCounter(LIMIT), json.dumps(value, ensure_ascii=is_ascii).encode()
    for start in range(0, len(body), size):
        counter.add(body[start : start + size])
    assert counter.n_parts == count_parts(value)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":"' + b'\\"' * 500_000,
        b'"' * 1_000_000,
        b'"' + b"\\" * 1_000_000,
        b"]" * 999_000,
        b"," * 999_000,
        b'""' * 499_500,
        b"}" * 999_000,
    ],
)
def test_no_body_of_a_megabyte_holds_the_event_loop(body: bytes) -> None:
    """Closing brackets, commas and texts cost no more than letters; a text without an end is read once."""
    assert (
        min(slowest_slice_s(body) for _ in range(3)) < 0.005
    )  # a garbage collection may fall into one of them


def slowest_slice_s(body: bytes) -> float:
    """Return the longest time that this thread computes for a slice."""
    counter, slowest_s = PartCounter(LIMIT), 0.0
    for start in range(0, len(body), SLICE_BYTES):
        started_at = thread_time()
        try:
            counter.add(body[start : start + SLICE_BYTES])
        except TooLarge:
            break
        finally:
            slowest_s = max(slowest_s, thread_time() - started_at)
    return slowest_s


def read_metric(name: str) -> float:
    return REGISTRY.get_sample_value(name, {"part": "ingress"}) or 0


async def test_an_ingress_that_is_asked_to_end_has_not_died(
    config: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingress, "freeze_gc", lambda: None)
    n_starts, n_ends = read_metric("errata_process_starts_total"), read_metric("errata_process_ends_total")
    app = Ingress(config, {}, None).__serve_build_asgi_app__()  # type: ignore[arg-type]  # it is not asked
    async with app.router.lifespan_context(app):
        assert read_metric("errata_process_starts_total") == n_starts + 1
        assert read_metric("errata_processes") == 1
        assert read_metric("errata_process_start_time_seconds") > 0
    assert read_metric("errata_process_ends_total") == n_ends + 1
    assert read_metric("errata_processes") == 0
