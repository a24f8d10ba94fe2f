"""Traces of OpenTelemetry from HTTP to the model and to Redis, sent over OTLP/HTTP to a collector.

FastAPI makes a span of every request and continues its sender's trace (W3C Trace Context); Ray Serve starts the tracer
of every process and carries the trace over its handles. This module configures the collector, and makes the spans that
both do not know: the parts of a question and of a commit, and every call to Redis. It makes spans only within a trace,
so a heartbeat has none.
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
    """Return the environment variables from which started processes configure their tracer.

    Args:
        sample_rate: Share of requests that are traced, of those whose sender does not decide it.
    """
    return {
        "RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH": f"{__name__}:{processors.__name__}",
        "RAY_SERVE_TRACING_SAMPLING_RATIO": str(sample_rate),
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_SERVICE_NAME": NAME,
    }


def processors() -> list[SpanProcessor]:
    """Return the processors of this process's spans; Ray calls it once. The exporter reads the OTEL_ variables."""
    return [BatchSpanProcessor(OTLPSpanExporter())]


class Retry(Exception):
    """A block is left to be run again, which is no failure of it."""


@contextmanager
def span(name: str, kind: SpanKind = PART, **attributes: str) -> Iterator[None]:
    """Make a span around a block, within a trace. It records an exception that leaves the block."""
    if not trace.get_current_span().get_span_context().is_valid:
        yield
        return
    again: Retry | None = None
    with _tracer.start_as_current_span(name, kind=kind, attributes=attributes):
        try:
            yield
        except Retry as error:
            again = error
    if again is not None:
        raise again


def record_spans(parts: Mapping[str, float]) -> None:
    """Record spans of parts that have ended. `parts`: seconds of each part, in order; the last has just ended."""
    if not trace.get_current_span().is_recording():
        return
    start_s = time.time() - sum(parts.values())
    for name, seconds in parts.items():
        _tracer.start_span(name, start_time=int(NS * start_s)).end(int(NS * (start_s + seconds)))
        start_s += seconds


def set_attributes(**attributes: str) -> None:
    """Set attributes of the current span, if there is one."""
    trace.get_current_span().set_attributes(attributes)


def inject() -> Mapping[str, str]:
    """Return the carrier that takes the trace where Ray does not; it is empty without a trace."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier


@contextmanager
def continue_trace(carrier: Mapping[str, str], name: str) -> Iterator[None]:
    """Make a span in the trace of a carrier from `inject`; do nothing for an empty carrier."""
    if not carrier:
        yield
        return
    with _tracer.start_as_current_span(name, context=_PROPAGATOR.extract(carrier)):
        yield


def trace_id() -> str:
    """Return the current trace's id in hexadecimal; "" without a trace."""
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else ""
