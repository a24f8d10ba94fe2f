"""How each system is loaded, for whoever serves them: one zero-argument loader by name."""

from models.kbert.system import KbertSystem
from models.nkb.system import NkbSystem
from models.system import System


def load_nkb() -> System:
    """T5 with a Neural Knowledge Bank, the default checkpoint. Takes seconds; CheckpointError says what is wrong."""
    return NkbSystem.load()


def load_kbert() -> System:
    """BERT that reads a sentence tree, the default checkpoint. Takes seconds; CheckpointError says what is wrong."""
    return KbertSystem.load()
