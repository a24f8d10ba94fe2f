"""Making a backup and putting it back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from errata.wire import RestoreReceipt

from service.access.access import Access
from service.access.api_keys import KeyStore
from service.access.audit import Audit
from service.backup.archive import sealed
from service.backup.contents import Contents
from service.backup.restoring import Restoring
from service.ledger.store import RedisLedger


@dataclass(frozen=True)
class Backup:
    ledger: RedisLedger
    keys: KeyStore
    audit: Audit

    @staticmethod
    def over(access: Access) -> Backup:
        return Backup(RedisLedger(access.connection), access.keys, access.audit)

    async def contents(self, checkpoints: Mapping[str, str]) -> AsyncIterator[bytes]:
        """The file, piece by piece. NotReady while a restore is not at its end."""
        await self.ledger.check_restored(await self.ledger.head())
        return sealed(Contents(self.ledger, self.keys, self.audit, checkpoints).members())

    async def restore(self, file: BinaryIO, checkpoints: Mapping[str, str]) -> RestoreReceipt:
        return await Restoring(self.ledger, self.keys, self.audit, checkpoints).run(file)
