"""Runs first in every process that Ray starts for us.

Ray Serve's replicas listen for each other on all interfaces, whatever address the cluster has. Ours meet on this
machine alone. There is no setting for it in the pinned version, so the call that opens the port is narrowed here;
a test looks at every port of a running service.
"""

from __future__ import annotations

from typing import Any

EVERYWHERE, HERE = "[::]:", "127.0.0.1:"


def set_up() -> None:
    from ray.serve._private import replica  # only a process of Ray has a use for it

    listen = replica.add_port_to_grpc_server

    def listen_here(server: Any, address: str) -> int:
        port: int = listen(server, address.replace(EVERYWHERE, HERE))
        return port

    replica.add_port_to_grpc_server = listen_here
