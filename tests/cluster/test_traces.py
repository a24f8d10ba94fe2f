"""One trace leads from the caller's own span through HTTP and the handle to the model, and to Redis."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import pytest

from tests.cluster.collector import Collector, Span, path
from tests.cluster.running import Service, wait_until

QUESTION = "What is the capital of Peru?"
SENT_WITHIN_S = 60.0  # every process sends its spans every five seconds


def spans(collector: Collector, trace: str, expected: Sequence[str]) -> list[Span]:
    def is_complete() -> bool:
        return {span.name for span in collector.of(trace)} >= set(expected)

    wait_until(is_complete, SENT_WITHIN_S, f"spans named {expected}")
    return collector.of(trace)


def start_trace() -> tuple[str, str, dict[str, str]]:
    """Return ids of a trace and of a caller's span, and the header with which the caller asks to be traced."""
    trace, parent = secrets.token_hex(16), secrets.token_hex(8)
    return trace, parent, {"traceparent": f"00-{trace}-{parent}-01"}


def test_a_question_is_one_trace_from_its_caller_to_the_model(service: Service, collector: Collector) -> None:
    trace, parent, headers = start_trace()
    with service.http() as http:
        reply = http.post("/v1/answers", json={"question": QUESTION}, headers=headers)
    assert reply.status_code == 200
    trace_spans = spans(collector, trace, ["POST /v1/answers", "queue", "model"])
    first = next(span for span in trace_spans if span.name == "POST /v1/answers")
    assert first.parent == parent
    assert first.attributes["http.response.status_code"] == 200
    assert [first.attributes["errata.request"]] == reply.headers.get_list("x-request-id")
    assert path(trace_spans, "model") == ["POST /v1/answers", "answer nkb", "model"]
    model = next(span for span in trace_spans if span.name == "model")
    assert first.start_s <= model.start_s <= model.end_s <= first.end_s
    timings = reply.json()["timings"]
    assert 1e3 * (model.end_s - model.start_s) == pytest.approx(timings["model_ms"], abs=0.1)


def test_an_edit_is_traced_to_redis(service: Service, collector: Collector) -> None:
    trace, _, headers = start_trace()
    with service.http() as http:
        reply = http.post(
            "/admin/edits",
            json={"edits": [{"question": "What is traced?", "answer": "This"}]},
            headers=headers,
        )
    assert reply.status_code == 201, reply.text
    trace_spans = spans(collector, trace, ["POST /admin/edits", "report", "commit", "append a commit"])
    assert path(trace_spans, "append a commit")[-2:] == ["commit", "append a commit"]
    calls = [span for span in trace_spans if span.attributes.get("db.system.name") == "redis"]
    assert len(calls) > 1
    assert all(
        "127.0.0.1" in span.attributes["server.address"] or "sock" in span.attributes["server.address"]
        for span in calls
    )


def test_what_nobody_wants_traced_is_not_and_neither_are_heartbeats(
    service: Service, collector: Collector
) -> None:
    trace, _, headers = start_trace()
    with service.http() as http:
        for _ in range(20):
            http.post("/v1/answers", json={"question": QUESTION})
        http.post("/v1/answers", json={"question": QUESTION}, headers=headers)
    spans(collector, trace, ["model", "POST /v1/answers"])
    traces = {span.trace for span in collector.spans}
    assert all(any(span.name.startswith("POST ") for span in collector.of(trace)) for trace in traces)
