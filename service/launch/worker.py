"""Runs first in every process of the private Ray cluster, and changes what has no setting in the pinned Ray.

Replicas of Ray Serve listen for each other on all interfaces; here they listen on 127.0.0.1, for all of them are on
this machine. Ray's ingress opens its port without SO_REUSEADDR, so an ingress that was killed while clients held
connections could not be restarted there, and Ray never tries a port again that could not be opened once, though there
is only one. Tests look at every port of a running service, and kill its ingress. Under `serve deploy` none of this
applies: replicas are on several machines, and the ports are those of Ray's proxies. Settings for both ways are in
`environment.py`; there, only `service.logs.configure` runs first.

Serve opens a log for each new replica; here it is opened when something is logged, as a disk may have no inodes left.
"""

from __future__ import annotations

from functools import partialmethod
from logging.handlers import RotatingFileHandler
from typing import Any

from service import logs

ALL_INTERFACES, LOOPBACK = "[::]:", "127.0.0.1:"


def to_loopback(address: str) -> str:
    """Return the address on 127.0.0.1 in place of one on all interfaces.

    Raises:
        RuntimeError: It is neither; a port that strangers reach would be opened without a word.
    """
    if not address.startswith((ALL_INTERFACES, LOOPBACK)):
        raise RuntimeError(
            f"Ray would listen at {address}, which is not known to be private: use ray==2.60.0"
        )
    return address.replace(ALL_INTERFACES, LOOPBACK)


def set_up() -> None:
    logs.configure()
    RotatingFileHandler.__init__ = partialmethod(  # type: ignore[assignment, method-assign]
        RotatingFileHandler.__init__, delay=True
    )
    from ray.serve._private import node_port_manager, replica  # late: only a process of Ray needs it

    listen, serve = replica.add_port_to_grpc_server, replica.start_asgi_http_server
    release = node_port_manager.PortAllocator.release

    def listen_on_loopback(server: Any, address: str) -> Any:
        return listen(server, to_loopback(address))

    def serve_on_reused_port(*args: Any, **options: Any) -> Any:
        return serve(*args, **{**options, "enable_so_reuseport": True})

    def release_without_blocking(self: Any, replica_id: str, port: int, block_port: bool = False) -> None:
        release(self, replica_id, port)

    node_port_manager.PortAllocator.release = release_without_blocking
    replica.add_port_to_grpc_server, replica.start_asgi_http_server = listen_on_loopback, serve_on_reused_port
