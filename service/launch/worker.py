"""Runs first in every process that Ray starts for us, to change two calls that have no setting in the pinned version.

Ray Serve's replicas listen for each other on all interfaces, whatever address the cluster has: ours meet on this
machine alone. And its ingress opens its port without SO_REUSEADDR: killed while clients hold connections, it could
not be started again on that port. Tests look at every port of a running service, and kill its ingress.
"""

from __future__ import annotations

from typing import Any

EVERYWHERE, HERE = "[::]:", "127.0.0.1:"


def set_up() -> None:
    from ray.serve._private import replica  # only a process of Ray has a use for it

    listen, serve = replica.add_port_to_grpc_server, replica.start_asgi_http_server

    def listen_here(server: Any, address: str) -> Any:
        return listen(server, address.replace(EVERYWHERE, HERE))

    def serve_again(*args: Any, **options: Any) -> Any:
        return serve(*args, **{**options, "enable_so_reuseport": True})

    replica.add_port_to_grpc_server, replica.start_asgi_http_server = listen_here, serve_again
