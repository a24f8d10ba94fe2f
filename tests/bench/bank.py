"""The default checkpoint as the bench reads and edits it: a system, its bank, and views of versions."""

from collections.abc import Sequence

from models.device import AUTO, resolve_device
from models.memory import AnswerChange, Material, Views
from models.nkb.memory import BANK, BankMemory, BankOptions
from models.nkb.reader import ReadCache, Reader
from models.nkb.system import NkbSystem


def load_nkb() -> tuple[NkbSystem, BankMemory]:
    """Load system and bank as the service does, on the GPU if there is one; they share their reads."""
    return nkb_of(Reader.load(device=resolve_device(AUTO)))


def nkb_of(reader: Reader) -> tuple[NkbSystem, BankMemory]:
    reads = ReadCache(reader)
    return NkbSystem(reader, reads), BankMemory(reader, reads)


def build_gated(memory: BankMemory, changes: Sequence[AnswerChange]) -> list[Material]:
    """Build gated edits; raise EditRefused if one is refused."""
    materials = []
    for result in memory.build(changes, BankOptions(method="gated")):
        if not isinstance(result, Material):
            raise result
        materials.append(result)
    return materials


def read_bank(memory: BankMemory, materials: Sequence[Material] = ()) -> Views:
    """Return the view of the version with these edits."""
    return {BANK: memory.view(memory.fold(materials))}
