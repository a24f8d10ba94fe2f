"""Traces of OpenTelemetry from HTTP to the model and to Redis, sent over OTLP/HTTP to where one setting says.

FastAPI makes a span of every request and continues its sender's trace (W3C Trace Context); Ray Serve starts the tracer
of every process and carries the trace over its handles. This file says where the spans of a process go, and makes those
that both know nothing of: the parts of a question and of a commit, and every call to Redis. They are made within a
trace alone: no heartbeat begins one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

NAME = "errata"
NS = 1e9
PART, CALL = SpanKind.INTERNAL, SpanKind.CLIENT

_tracer = trace.get_tracer(NAME)
_PROPAGATOR = TraceContextTextMapPropagator()


def environment(endpoint: str, sample_rate: float) -> Mapping[str, str]:
    """The variables from which the processes that are started configure their tracer.

    Args:
        endpoint: of the collector.
        sample_rate: share of the requests that are traced, of those whose sender does not say.
    """
    return {
        "RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH": f"{__name__}:{processors.__name__}",
        "RAY_SERVE_TRACING_SAMPLING_RATIO": str(sample_rate),
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_SERVICE_NAME": NAME,
    }


def processors() -> list[SpanProcessor]:
    """Where the spans of this process go; Ray asks for it once. The exporter reads the OTEL_ variables."""
    return [BatchSpanProcessor(OTLPSpanExporter())]


@contextmanager
def span(name: str, kind: SpanKind = PART, **attributes: str) -> Iterator[None]:
    """A span around a block, within a trace. It records an exception that leaves the block."""
    if not trace.get_current_span().get_span_context().is_valid:
        yield
        return
    with _tracer.start_as_current_span(name, kind=kind, attributes=attributes):
        yield


def record_spans(parts: Mapping[str, float]) -> None:
    """Records spans of what is over.

    Args:
        parts: seconds of each, in their order; the last has just ended.
    """
    if not trace.get_current_span().is_recording():
        return
    start_s = time.time() - sum(parts.values())
    for name, seconds in parts.items():
        _tracer.start_span(name, start_time=int(NS * start_s)).end(int(NS * (start_s + seconds)))
        start_s += seconds


def set_attributes(**attributes: str) -> None:
    """Sets attributes of the current span, if there is one."""
    trace.get_current_span().set_attributes(attributes)


def inject() -> Mapping[str, str]:
    """What carries the trace to where Ray does not; empty outside of one."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier


@contextmanager
def continue_trace(carrier: Mapping[str, str], name: str) -> Iterator[None]:
    """A span of the trace that `inject` carried here; nothing where there was none."""
    if not carrier:
        yield
        return
    with _tracer.start_as_current_span(name, context=_PROPAGATOR.extract(carrier)):
        yield


def trace_id() -> str:
    """The current trace's id in hexadecimal; "" outside of one."""
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else ""
