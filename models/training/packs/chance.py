"""The seeded order in which candidates are looked at: the same on every machine and every Python."""

from hashlib import sha256

SEED = 20261121


def rank(*parts: str, seed: int = SEED) -> str:
    """Sort by this to shuffle: a digest of the seed and of what is sorted."""
    return sha256("\x1f".join((str(seed), *parts)).encode()).hexdigest()
