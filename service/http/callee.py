"""What the routes know of a deployment: that its methods can be called, and that a call fails in our own words."""

from __future__ import annotations

from typing import Any, Protocol


class Callee(Protocol):
    """A deployment of ours, seen from the ingress."""

    async def call(self, method: str, *args: Any, limit_s: float) -> Any:
        """What the method returns. TooMany, NotReady or Internal when the call itself fails; nothing else."""
