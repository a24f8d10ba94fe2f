"""The page of a machine on a port of its own, for clusters where Ray's proxies stand before the ingresses.

A proxy asks whichever ingress is free, so its /metrics may be that of any machine. Here the first process of ours on a
machine that gets the port has it, and when it ends another one takes it within seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

EVERYWHERE = "0.0.0.0"  # as Ray's own page: who may not read it must not reach it
PATH = "/metrics"
AGAIN_S = 2.0


def export(page: Callable[[], bytes], kind: str, port: int) -> None:
    """Beside everything else, for as long as this process lives. kind: the media type of the page."""
    threading.Thread(target=_export, args=(page, kind, port), name="exporter", daemon=True).start()


def _export(page: Callable[[], bytes], kind: str, port: int) -> None:
    while True:
        try:
            server = ThreadingHTTPServer((EVERYWHERE, port), _handler(page, kind))
        except OSError:  # another process of ours has it
            time.sleep(AGAIN_S)
            continue
        server.serve_forever()


def _handler(page: Callable[[], bytes], kind: str) -> type[BaseHTTPRequestHandler]:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.partition("?")[0] != PATH:
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            body = page()
            self.send_response(HTTPStatus.OK)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: a page is read every few seconds."""

    return Page
