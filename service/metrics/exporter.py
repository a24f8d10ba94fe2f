"""Serves a machine's /metrics on a separate port, for clusters where Ray's proxies stand before the ingresses.

A proxy asks any free ingress, so its /metrics may be that of any machine. The first process of Errata on a machine
serves the port, and when it ends another takes it within seconds.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ALL_INTERFACES = ("::", "0.0.0.0")  # like Ray's own page; a firewall has to protect it
PATH = "/metrics"
RETRY_EVERY_S = 2.0


class Listener(ThreadingHTTPServer):
    """A server on both kinds of addresses; of the older kind alone where the machine lacks the newer."""

    def __init__(self, port: int, page: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = socket.AF_INET6
        try:
            super().__init__((ALL_INTERFACES[0], port), page)
        except OSError:
            self.address_family = socket.AF_INET
            super().__init__((ALL_INTERFACES[1], port), page)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


def start(render: Callable[[], bytes], media_type: str, port: int) -> None:
    """Serve the text of `render` in a daemon thread, for as long as this process lives."""

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
            """Log no request, because the page is read every few seconds."""

    def serve() -> None:
        while True:
            try:
                server = Listener(port, Page)
            except OSError:  # another of our processes has it
                time.sleep(RETRY_EVERY_S)
                continue
            server.serve_forever()

    threading.Thread(target=serve, name="exporter", daemon=True).start()
