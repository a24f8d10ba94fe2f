"""A collector of traces: it reads what OpenTelemetry's exporters send, by OTLP over HTTP."""

import gzip
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Span:
    """Ids are hexadecimal; parent "" for the first of its process tree. Times are in seconds."""

    name: str
    trace: str
    id: str
    parent: str
    start_s: float
    end_s: float
    attributes: dict[str, Any]


@dataclass
class Collector:
    url: str = ""
    spans: list[Span] = field(default_factory=list)

    def of(self, trace: str) -> list[Span]:
        return [span for span in list(self.spans) if span.trace == trace]

    def take(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.spans += map(_span, scope.spans)


def path(spans: Sequence[Span], name: str) -> list[str]:
    """Return the names from the first span down to the one with this name."""
    by_id = {span.id: span for span in spans}
    span: Span | None = next(span for span in spans if span.name == name)
    names = []
    while span is not None:
        names.append(span.name)
        span = by_id.get(span.parent)
    return names[::-1]


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            assert self.path == "/v1/traces"
            collector.take(gzip.decompress(body) if self.headers["content-encoding"] == "gzip" else body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.url = f"http://127.0.0.1:{server.server_address[1]}"
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield collector
        finally:
            server.shutdown()
            serving.join()


def _span(raw: Any) -> Span:
    attributes = {pair.key: pair.value.string_value or pair.value.int_value for pair in raw.attributes}
    ids = raw.trace_id.hex(), raw.span_id.hex(), raw.parent_span_id.hex()
    times = raw.start_time_unix_nano / 1e9, raw.end_time_unix_nano / 1e9
    return Span(raw.name, *ids, *times, attributes)
