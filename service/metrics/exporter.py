"""Serves a machine's /metrics on a port of its own, for clusters where Ray's proxies stand before the ingresses.

A proxy asks whichever ingress is free, so its /metrics may be that of any machine. Here the first of our processes on a
machine that gets the port has it, and when it ends another takes it within seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ALL_INTERFACES = "0.0.0.0"  # as Ray's own page: who may not read it must not reach it
PATH = "/metrics"
RETRY_EVERY_S = 2.0


def start(render: Callable[[], bytes], media_type: str, port: int) -> None:
    """Serves what `render` returns in a daemon thread, for as long as this process lives."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.partition("?")[0] != PATH:
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            body = render()
            self.send_response(HTTPStatus.OK)
            self.send_header("content-type", media_type)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: a page is read every few seconds."""

    def serve() -> None:
        while True:
            try:
                server = ThreadingHTTPServer((ALL_INTERFACES, port), Page)
            except OSError:  # another of our processes has it
                time.sleep(RETRY_EVERY_S)
                continue
            server.serve_forever()

    threading.Thread(target=serve, name="exporter", daemon=True).start()
