"""The questions of a pack as probes: what a system trained on it is asked to see the side effects of an edit."""

from functools import lru_cache
from pathlib import Path

from models.packs.pack import WORLD, Pack
from models.system import Probes


@lru_cache(1)  # systems of one process are trained on one pack
def pack_probes(folder: Path = WORLD) -> Probes:
    """Reads the whole pack. PackError when it is damaged."""
    pack = Pack.load(folder)
    return Probes(
        core=tuple(probe.question for probe in pack.probes),
        training=tuple(item.relation.question(item.subject.label) for item in pack.items()),
        templates=tuple((*relation.held_out, *relation.phrasings) for relation in pack.relations.values()),
    )
