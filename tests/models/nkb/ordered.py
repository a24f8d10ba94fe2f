"""Materials as the writer leaves them: numbered in the order of the ledger."""

from collections.abc import Sequence
from dataclasses import replace

from models.memory import Material


def in_ledger_order(materials: Sequence[Material]) -> list[Material]:
    return [replace(m, block=replace(m.block, order=place)) for place, m in enumerate(materials, 1)]
