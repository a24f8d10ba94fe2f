"""Why an answer came out: which gate opened, or which slots of the bank fired and what they pushed for."""

from collections.abc import Sequence
from typing import Any

from models.nkb.interpret import Contribution, contributions
from models.nkb.reader import END, Read, Reader
from models.nkb.reads import BankRead
from models.scope.gates import GateMatch

TOP, WORDS = 5, 3  # slots shown, and words shown for each


def explain(
    reader: Reader, read: Read, row: int, bank: BankRead, gate: GateMatch | None, said: Sequence[int]
) -> dict[str, Any]:
    """said: the tokens of the answer, which may be spelt in other ways than its text would be."""
    slots = [] if gate else _slots(reader, read, row, bank, said[0] if said else END)
    return {"gate": _gate(gate), "slots": slots}


def _gate(gate: GateMatch | None) -> dict[str, Any]:
    if gate is None:
        return {"open": False}
    return {"open": True, "edit": gate.block.key.removeprefix("edit/"), "log_odds": round(gate.logit, 3)}


def _slots(reader: Reader, read: Read, row: int, bank: BankRead, token: int) -> list[dict[str, Any]]:
    one = slice(row, row + 1)
    found = contributions(
        reader.decoder, read.states[one], read.mask[one], token, read=bank, top=TOP, k=WORDS
    )
    return [_slot(reader, contribution) for contribution in found]


def _slot(reader: Reader, found: Contribution) -> dict[str, Any]:
    words = [reader.say([token]) for token in found.tokens.ids.tolist()]
    return {
        "slot": found.slot,
        "weight": round(found.weight, 4),
        "words": words,
        "logit_change_without": round(found.logit_change, 4),
    }
