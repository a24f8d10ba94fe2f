"""T5 with a Neural Knowledge Bank: the closed-book system whose facts are value rows."""

from models.checkpoint import CheckpointError
from models.nkb.bank import Bank
from models.nkb.checkpoint import load_nkb
from models.nkb.config import BankConfig
from models.nkb.decode import BankRead, Decoded, Decoder
from models.nkb.mount import bank_of, mount
from models.nkb.trace import Trace, trace

__all__ = [
    "Bank",
    "BankConfig",
    "BankRead",
    "CheckpointError",
    "Decoded",
    "Decoder",
    "Trace",
    "bank_of",
    "load_nkb",
    "mount",
    "trace",
]
