"""T5 with a Neural Knowledge Bank: the closed-book system whose facts are value rows."""

from models.checkpoint import CheckpointError
from models.nkb.bank import Bank, BankConfig, bank_of, mount
from models.nkb.checkpoint import load_nkb
from models.nkb.decode import DecodedAnswer, Decoder, Overlay
from models.nkb.trace import Trace, trace

__all__ = [
    "Bank",
    "BankConfig",
    "CheckpointError",
    "DecodedAnswer",
    "Decoder",
    "Overlay",
    "Trace",
    "bank_of",
    "load_nkb",
    "mount",
    "trace",
]
