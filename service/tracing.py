"""Traces of OpenTelemetry from HTTP to the model and to Redis, sent over OTLP/HTTP to where one setting says.

FastAPI makes a span of every request, and goes on with the trace of its sender (W3C Trace Context); Ray Serve starts
the tracer of every process, and carries the trace over its handles. Here is where the spans of a process go, and those
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


def environment(endpoint: str, share: float) -> Mapping[str, str]:
    """For the processes that are started. endpoint: of the collector. share: of the requests, where nobody says."""
    return {
        "RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH": f"{__name__}:{processors.__name__}",
        "RAY_SERVE_TRACING_SAMPLING_RATIO": str(share),
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_SERVICE_NAME": NAME,
    }


def processors() -> list[SpanProcessor]:
    """Where the spans of this process go; Ray asks for it once. The exporter reads the OTEL_ variables."""
    return [BatchSpanProcessor(OTLPSpanExporter())]


@contextmanager
def span(name: str, kind: SpanKind = PART, **attributes: str) -> Iterator[None]:
    """Around what takes its time. An exception that leaves it is told."""
    if not trace.get_current_span().get_span_context().is_valid:
        yield
        return
    with _tracer.start_as_current_span(name, kind=kind, attributes=attributes):
        yield


def told(parts: Mapping[str, float]) -> None:
    """Spans of what is over. parts: seconds of each, in their order, the last of which has just ended."""
    if not trace.get_current_span().is_recording():
        return
    begun = time.time() - sum(parts.values())
    for name, seconds in parts.items():
        _tracer.start_span(name, start_time=int(NS * begun)).end(int(NS * (begun + seconds)))
        begun += seconds


def noted(**attributes: str) -> None:
    """On the span that is open, if there is one."""
    trace.get_current_span().set_attributes(attributes)


def carried() -> Mapping[str, str]:
    """What takes the trace along to where Ray does not; empty outside of one."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier


@contextmanager
def continued(carrier: Mapping[str, str], name: str) -> Iterator[None]:
    """A span of the trace that `carried` took along; nothing where it took none."""
    if not carrier:
        yield
        return
    with _tracer.start_as_current_span(name, context=_PROPAGATOR.extract(carrier)):
        yield


def trace_id() -> str:
    """Hexadecimal, of the trace that this is part of; "" outside of one."""
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else ""
