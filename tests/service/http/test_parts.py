"""Requests of several parts, the ingress, and when the service is ready."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from time import thread_time
from typing import Any

import pytest
from errata.wire import ReplicaList, ReplicaState
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from service.config import Settings
from service.editing.operations import ListReplicas
from service.errors import ErrataError, LedgerUnavailable, NotReady, TooLarge
from service.http import ingress
from service.http.body import SLICE_BYTES, PartCounter
from service.http.ingress import Ingress
from service.http.routes import status
from service.http.routes.status import Readiness
from service.outcome import Outcome
from tests.service.http.conftest import local_editor, local_router

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


HEAD = 7


class Part:
    """A model's replica and an editor; each call fails with its error, or hangs."""

    def __init__(self, versions: list[int], unhealthy: int = 0) -> None:
        self.versions, self.unhealthy = versions, unhealthy
        self.failures: dict[str, ErrataError] = {}
        self.hanging: set[str] = set()
        self.calls = 0

    async def _call(self, name: str) -> None:
        self.calls += 1
        if name in self.hanging:
            await asyncio.sleep(60)
        if name in self.failures:
            raise self.failures[name]

    async def state(self) -> dict[str, Any]:
        await self._call("state")
        return {}

    async def describe(self) -> dict[str, Any]:
        await self._call("describe")
        return {}

    async def ready(self) -> dict[str, Any]:
        await self._call("ready")
        return {"degraded": None}

    async def call(self, call: ListReplicas) -> Outcome:
        try:
            await self._call("replicas")
        except ErrataError as error:
            return Outcome.of(error, None)
        replicas = [
            ReplicaState(
                replica=f"toy-{place}",
                model="toy",
                version=version,
                checksums={},
                lag=0,
                healthy=place >= self.unhealthy,
                seen_s_ago=0.1,
            )
            for place, version in enumerate(self.versions)
        ]
        return Outcome.ok(ReplicaList(head=HEAD, replicas=replicas))


def readiness_of(part: Part) -> Readiness:
    return Readiness(local_router({"toy": part}), local_editor(part), 2)


@pytest.mark.parametrize(
    ("part", "is_converged", "counts"),
    [
        (Part([HEAD, HEAD]), True, {"live": 2, "current": 2}),
        (Part([HEAD, HEAD - 1]), False, {"live": 2, "current": 1}),
        (Part([HEAD]), False, {"live": 1, "current": 1}),
        (Part([HEAD, HEAD], unhealthy=1), False, {"live": 2, "current": 1}),
    ],
)
async def test_a_commit_on_its_way_and_a_replica_less_are_told_and_keep_it_ready(
    part: Part, is_converged: bool, counts: dict[str, int]
) -> None:
    state = await readiness_of(part).describe()
    assert (state["ready"], state["converged"], state["degraded"]) == (True, is_converged, None)
    assert (state["version"], state["models"]) == (HEAD, {"toy": counts})


async def test_without_the_ledger_who_answers_is_asked() -> None:
    part = Part([])
    part.failures["replicas"] = LedgerUnavailable("away")
    state = await readiness_of(part).describe()
    assert (state["ready"], state["converged"], state["models"]) == (True, False, None)


async def test_a_model_of_which_nothing_answers_is_not_ready() -> None:
    part = Part([])
    part.failures["state"] = NotReady("started again")
    with pytest.raises(NotReady, match="no replica of 'toy' answers"):
        await readiness_of(part).describe()


async def test_a_model_that_has_not_described_itself_is_not_ready() -> None:
    part = Part([HEAD, HEAD])
    part.failures["describe"] = NotReady("started again")
    with pytest.raises(NotReady, match="'toy' has not described itself yet"):
        await readiness_of(part).describe()


async def test_before_the_first_look_at_the_editor_ends_it_is_not_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(status, "FIRST_WAIT_S", 0.01)
    part = Part([HEAD, HEAD])
    part.hanging = {"ready"}
    with pytest.raises(NotReady, match="the editor"):
        await readiness_of(part).describe()


@pytest.fixture
async def watch(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[[Part], Awaitable[Readiness]]]:
    """Return a function that starts to watch a part and has described it once."""
    monkeypatch.setattr(status, "FRESH_S", 0.01)
    probes: list[Readiness] = []

    async def start(part: Part) -> Readiness:
        probes.append(readiness_of(part))
        await probes[-1].start()
        await probes[-1].describe()
        return probes[-1]

    yield start
    for probe in probes:
        await probe.aclose()


@pytest.mark.parametrize("hanging", [{"state"}, {"ready", "replicas"}])
async def test_a_probe_waits_for_no_look_up_that_hangs(
    hanging: set[str], watch: Callable[[Part], Awaitable[Readiness]]
) -> None:
    part = Part([HEAD, HEAD])
    probe = await watch(part)
    part.hanging = hanging
    await asyncio.sleep(0.1)
    description = probe.describe()
    with pytest.raises(StopIteration) as end:
        description.send(None)
    assert end.value.value["ready"], "it ends in its first step, without a pause"


async def test_what_is_known_of_an_editor_that_hangs_grows_too_old(
    monkeypatch: pytest.MonkeyPatch, watch: Callable[[Part], Awaitable[Readiness]]
) -> None:
    monkeypatch.setattr(status, "STALE_S", 0.5)
    part = Part([HEAD, HEAD])
    probe = await watch(part)
    part.hanging = {"ready", "replicas"}
    await asyncio.sleep(0.6)
    state = await probe.describe()
    assert (state["ready"], state["converged"], state["degraded"]) == (True, False, "not_ready")
