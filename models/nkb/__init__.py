"""T5 with a Neural Knowledge Bank: the closed-book system whose facts are value rows."""

from models.nkb.bank import Bank
from models.nkb.config import BankConfig
from models.nkb.decode import BankRead, Decoded, Decoder
from models.nkb.load import load_nkb
from models.nkb.mount import bank_of, mount
from models.nkb.trace import Trace, trace
from models.stored.files import CheckpointError

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
