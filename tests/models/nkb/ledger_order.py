"""Materials as the writer leaves them, numbered in the order of the ledger, and the views that a system reads."""

from collections.abc import Sequence
from dataclasses import replace

from models.memory import AnswerChange, Material, Views
from models.nkb.memory import BANK, BankMemory, BankOptions


def in_ledger_order(materials: Sequence[Material]) -> list[Material]:
    return [replace(m, block=replace(m.block, order=place)) for place, m in enumerate(materials, 1)]


def options(method: str) -> BankOptions:
    return BankOptions.model_validate({"method": method})


def build(memory: BankMemory, changes: Sequence[AnswerChange], method: str = "gated") -> list[Material]:
    """Build changes, none of which may be refused."""
    results = memory.build(changes, options(method))
    materials = [result for result in results if isinstance(result, Material)]
    assert len(materials) == len(changes), "a change is refused"
    return in_ledger_order(materials)


def read(memory: BankMemory, materials: Sequence[Material] = ()) -> Views:
    return {BANK: memory.view(memory.fold(materials))}
