"""Relations as training sees them: those of the pack and those for practice, and who may see which.

Five relations of the pack are held out whole, one of each group below, drawn once with the seed of the plan. A dozen
relations for practice are kept for tuning, so that thresholds are set on relations that no weight was trained on.
"""

import random
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from models.packs.pack import Pack

HERE = Path(__file__).parent
GROUPS = (("person",), ("organization", "any"), ("work", "product"), ("place", "country"), ("element",))
ANY = "any"
KINDS = {  # type of an entity -> types of subject that its relations may have, besides "any"
    "person": ("person", "agent"),
    "agent": ("person", "organization"),
    "organization": ("organization", "agent"),
    "country": ("country", "place"),
    "work": ("work", "product"),
    "product": ("product", "work"),
}


@dataclass(frozen=True)
class Known:
    """A relation with its labels, the pack's first. object: a type of the pack or a kind of value (values.py)."""

    id: str
    labels: tuple[str, ...]
    subject: str
    object: str
    phrasings: tuple[str, ...]
    held: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    practice: bool = False


@dataclass(frozen=True)
class Relations:
    """train: what weights see. tune: what thresholds see. unseen: nothing sees them before the last measurement."""

    train: Mapping[str, Known]
    tune: Mapping[str, Known]
    unseen: Mapping[str, Known]


def relations(pack: Pack, seed: int, tuned: int) -> Relations:
    others = tomllib.loads((HERE / "labels.toml").read_text("utf-8"))
    of_pack = {
        r.id: Known(
            r.id,
            (r.label, *others.get(r.id, ())),
            r.subject_type,
            r.object_type,
            r.phrasings,
            r.held,
            r.statements,
        )
        for r in pack.relations.values()
    }
    practice = _practice()
    held = unseen(pack, seed)
    kept = set(random.Random(f"{seed}/tune").sample(sorted(practice), tuned))
    return Relations(
        {id: r for id, r in {**of_pack, **practice}.items() if id not in kept and id not in held},
        {id: r for id, r in practice.items() if id in kept},
        {id: of_pack[id] for id in held},
    )


def unseen(pack: Pack, seed: int) -> list[str]:
    """One relation of each group, in the order of the groups."""
    rng = random.Random(seed)
    return [
        rng.choice(sorted(r.id for r in pack.relations.values() if r.subject_type in group))
        for group in GROUPS
    ]


def fits(relation: Known, type: str) -> bool:
    """An entity of this type may have the relation."""
    return relation.subject in (ANY, type, *KINDS.get(type, ())) or type in ("thing", "concept")


def _practice() -> dict[str, Known]:
    tables = tomllib.loads((HERE / "practice.toml").read_text("utf-8"))
    return {
        id: Known(id, (t["label"], *t["others"]), t["of"], t["object"], tuple(t["phrasings"]), practice=True)
        for id, t in tables.items()
    }
