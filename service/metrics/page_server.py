"""A machine's page of metrics on a separate port, for clusters where Ray's proxies stand before the ingresses.

A proxy asks any free ingress, so its /metrics may be that of any machine. The first process of Errata on a machine
serves the port, and when it ends another takes it within seconds.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from prometheus_client import CollectorRegistry, start_http_server

# Like Ray's own page; a firewall has to protect it. A machine may lack the first
ALL_INTERFACES = "::", "0.0.0.0"
RETRY_EVERY_S = 2.0


def serve(registry: CollectorRegistry, port: int) -> None:
    """Serve the page of a machine in a daemon thread, as soon as no other of our processes has the port."""

    def take_port() -> None:
        while True:
            for address in ALL_INTERFACES:
                with suppress(OSError):
                    start_http_server(port, address, registry)
                    return
            time.sleep(RETRY_EVERY_S)

    threading.Thread(target=take_port, name="exporter", daemon=True).start()
