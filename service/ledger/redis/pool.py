"""Connection pools: bounded in number and in time, with RESP3 and redis-py's new shapes of replies.

Replies are bytes, because rows are bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from service.concurrency import finish
from service.ledger.redis.address import ServerSettings


@dataclass(frozen=True)
class Pool:
    """Limits of the connections to one server. A caller waits for a free one at most `connect_s`."""

    max_connections: int
    reply_s: float
    connect_s: float

    def client(self, server: ServerSettings, retries: int) -> Any:
        """Return a Redis client; settings in the address win over those of the pool.

        Raises:
            ValueError: redis-py does not know a setting.
        """
        settings: dict[str, Any] = {
            "max_connections": self.max_connections,
            "timeout": self.connect_s,
            "socket_timeout": self.reply_s,
            "socket_connect_timeout": self.connect_s,
            "retry": Retry(NoBackoff(), retries),
            "protocol": 3,
            "legacy_responses": False,
            "decode_responses": False,
        }
        return Redis.from_pool(BlockingConnectionPool(**(settings | server)))

    async def ask(self, server: ServerSettings, *command: str) -> Any:
        """Send one command over a new connection, which is closed even if the caller is cancelled."""
        redis = self.client(server, retries=0)
        try:
            return await redis.execute_command(*command)
        finally:
            await finish(redis.aclose())
