"""Where the pages of figures of a whole cluster are: one of ours and one of Ray's own on every machine.

Serve knows where its ingresses listen and tells its own proxies; for us it has no public call in the pinned version, so
this file asks its controller. A test asks a running service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import ray

LISTENS_WITHIN_S = 1.0


class Pages:
    """port: of our page on each machine; None where each machine's ingress listens itself, and shows it."""

    def __init__(self, port: int | None) -> None:
        self._port = port

    async def of_ours(self) -> list[str]:
        """Address and port of every machine with a process of ours on it."""
        if self._port is None:
            return await _ingresses()
        port = self._port
        return await listening([_address(one["NodeManagerAddress"], port) for one in await _machines()])

    async def of_ray(self) -> list[str]:
        """Address and port of Ray's page about each machine that lives."""
        return sorted(
            _address(one["NodeManagerAddress"], one["MetricsExportPort"]) for one in await _machines()
        )


async def _ingresses() -> list[str]:
    from ray.serve.context import _get_global_client  # known within a replica alone

    groups = await _get_global_client()._controller.get_target_groups.remote(app_name="errata")
    return sorted({_address(one.ip, one.port) for group in groups for one in group.targets})


async def _machines() -> list[dict[str, Any]]:
    return [one for one in await asyncio.to_thread(ray.nodes) if one["Alive"]]


async def listening(addresses: Sequence[str]) -> list[str]:
    """Those where somebody listens: on a machine without a process of ours nobody does."""
    heard = await asyncio.gather(*(_listens(one) for one in addresses))
    return sorted(address for address, listens in zip(addresses, heard, strict=True) if listens)


async def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(LISTENS_WITHIN_S):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


def _address(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
