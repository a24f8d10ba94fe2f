"""The questions of a pack as probes, by which a system that was trained on it shows the side effects of an edit."""

from functools import lru_cache
from pathlib import Path

from models.packs.pack import WORLD, Pack
from models.system import Probes


@lru_cache(1)  # systems of one process are trained on one pack
def pack_probes(folder: Path = WORLD) -> Probes:
    """Read the whole pack. PackError: the pack is damaged."""
    pack = Pack.load(folder)
    return Probes(
        core=tuple(probe.question for probe in pack.probes),
        training=tuple(item.relation.question(item.subject.label) for item in pack.items()),
        templates=tuple((*relation.held_out, *relation.phrasings) for relation in pack.relations.values()),
    )
