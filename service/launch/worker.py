"""Runs first in every process that Ray starts for us, to change what has no setting in the pinned version.

Ray Serve's replicas listen for each other on all interfaces, whatever address the cluster has: ours meet on this
machine alone. Its ingress opens its port without SO_REUSEADDR: killed while clients hold connections, it could not be
started again on that port; nor is a port tried again that could not be opened once, and ours is the only one. It lets
any client set or switch off the server's time limits by a header: ours are the routes' own. It adds an X-Request-ID of
its own to every response, beside ours. Tests look at every port of a running service, kill its ingress, and send those
headers.
"""

from __future__ import annotations

from typing import Any

from service import logs

EVERYWHERE, HERE = "[::]:", "127.0.0.1:"
NEVER_SENT = "\0"  # HTTP has no header of this name


class Untouched:
    """A middleware that does nothing; a bare application, uvicorn may take for another kind."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)


def set_up() -> None:
    logs.configure()
    from ray.serve._private import (  # only a process of Ray has a use for it
        http_util,
        node_port_manager,
        replica,
    )

    listen, serve = replica.add_port_to_grpc_server, replica.start_asgi_http_server

    def listen_here(server: Any, address: str) -> Any:
        return listen(server, address.replace(EVERYWHERE, HERE))

    def serve_again(*args: Any, **options: Any) -> Any:
        return serve(*args, **{**options, "enable_so_reuseport": True})

    def release(self: Any, replica_id: str, port: int, block_port: bool = False) -> None:
        give_back(self, replica_id, port)

    give_back = node_port_manager.PortAllocator.release
    node_port_manager.PortAllocator.release = release
    replica.add_port_to_grpc_server, replica.start_asgi_http_server = listen_here, serve_again
    http_util.RequestIdMiddleware = Untouched
    http_util.SERVE_HTTP_REQUEST_TIMEOUT_S_HEADER = NEVER_SENT
    http_util.SERVE_HTTP_REQUEST_DISCONNECT_DISABLED_HEADER = NEVER_SENT
