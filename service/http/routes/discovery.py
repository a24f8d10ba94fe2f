"""`/discovery`: the pages that Prometheus reads, on all nodes of the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import ray
from fastapi import APIRouter
from fastapi.responses import JSONResponse

from service.http.routes.status import FRESH_S
from service.refreshing import Refreshing

CONNECT_LIMIT_S = 1.0


def build_discovery_router(metrics_port: int | None, scheme: str) -> APIRouter:
    """Build the routes.

    Args:
        metrics_port: Port of our page on each machine; None if each machine's ingress listens itself and has it.
        scheme: http or https, of our own pages; Ray's have no TLS.
    """
    router = APIRouter(prefix="/discovery", tags=["health"])
    pages = Refreshing(partial(_find_pages, metrics_port), FRESH_S)
    machines = Refreshing(_find_nodes, FRESH_S)

    @router.get("/service")
    async def get_service() -> JSONResponse:
        """List the addresses of /metrics, machine by machine."""
        return JSONResponse([{"targets": await pages.get(), "labels": {"__scheme__": scheme}}])

    @router.get("/ray")
    async def get_machines() -> JSONResponse:
        """List the addresses of Ray's own page: processor, memory, disk and GPU of each machine."""
        nodes = await machines.get()
        targets = sorted(_format(node["NodeManagerAddress"], node["MetricsExportPort"]) for node in nodes)
        return JSONResponse([{"targets": targets, "labels": {}}])

    return router


async def _find_pages(metrics_port: int | None) -> list[str]:
    if metrics_port is not None:
        nodes = await _find_nodes()
        return await filter_listening([_format(node["NodeManagerAddress"], metrics_port) for node in nodes])
    from ray.serve.context import _get_global_client  # known within a replica alone

    groups = await _get_global_client()._controller.get_target_groups.remote(app_name="errata")
    return sorted({_format(target.ip, target.port) for group in groups for target in group.targets})


async def _find_nodes() -> list[dict[str, Any]]:
    return [node for node in await asyncio.to_thread(ray.nodes) if node["Alive"]]


async def filter_listening(addresses: Sequence[str]) -> list[str]:
    """Return the addresses with a listener: a machine without a process of ours has none."""

    async def is_listening(address: str) -> bool:
        host, _, port = address.rpartition(":")
        try:
            async with asyncio.timeout(CONNECT_LIMIT_S):
                _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        except (OSError, TimeoutError):
            return False
        writer.close()
        return True

    listening = await asyncio.gather(*map(is_listening, addresses))
    return sorted(address for address, listens in zip(addresses, listening, strict=True) if listens)


def _format(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
