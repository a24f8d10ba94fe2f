"""All that stands between a request and what it asks for, made from what the operator set."""

from __future__ import annotations

from dataclasses import dataclass

from service.access.audit import Audit, RedisAudit
from service.access.gate import Gate
from service.access.keys import Keyring, Tokens
from service.access.limits import Limits, Rate
from service.access.register import RedisRegister, Register
from service.access.remembered import Remembered
from service.access.shared_counts import SharedCounts
from service.ledger.redis.connection import Connection


@dataclass(frozen=True)
class Access:
    gate: Gate
    register: Register
    audit: Audit
    connection: Connection

    @staticmethod
    def connect(
        redis_url: str,
        limit_s: float,
        admin_sha256: str,
        of_key: Rate,
        of_address: Rate,
        open_to_all: bool,
        tokens: Tokens | None = None,
    ) -> Access:
        """Nothing is sent before the first request. limit_s: how long Redis may take for one call."""
        connection = Connection(redis_url, limit_s)
        register, counts = RedisRegister(connection), SharedCounts(connection)
        keyring = Keyring(admin_sha256, Remembered(register), tokens)
        keys, addresses = Limits(of_key, counts, limit_s), Limits(of_address, counts, limit_s)
        gate = Gate(keyring, keys, addresses, open_to_all)
        return Access(gate, register, RedisAudit(connection), connection)

    async def aclose(self) -> None:
        await self.connection.aclose()
