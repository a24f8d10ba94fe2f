"""Relations for training, thresholds and the last measurement: those of the pack and those for practice.

Five relations of the pack are held out whole, one of each group below, drawn once with the seed of the plan. A dozen
relations for practice are kept for tuning, so that thresholds are set on relations that no weight was trained on.
"""

import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from models.packs.pack import Pack
from models.training.texts.phrasings import CHOOSE_HANDS, TRAIN_HANDS, read_phrasings

TABLES = Path(__file__).parents[1] / "kbert"  # labels.toml, practice.toml
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
class RelationText:
    """Labels and questions of a relation."""

    id: str
    labels: tuple[str, ...]  # the pack's label is the first
    subject: str  # type of its subjects
    object: str  # type or kind of its values
    phrasings: tuple[str, ...]
    statements: tuple[str, ...] = ()
    is_practice: bool = False
    opposite: tuple[str, ...] = ()  # ids of the relations that it is most easily confused with

    @property
    def label(self) -> str:
        return self.labels[0]


@dataclass(frozen=True)
class Relations:
    """Relations for weights (`train`), for thresholds (`tune`), and for the last measurement alone (`held_out`)."""

    train: Mapping[str, RelationText]
    tune: Mapping[str, RelationText]
    held_out: Mapping[str, RelationText]


def read_relations(pack: Pack) -> tuple[dict[str, RelationText], dict[str, RelationText]]:
    """Read the pack's relations, and those for practice in their own words."""
    other_labels, practice = (
        tomllib.loads((TABLES / name).read_text("utf-8")) for name in ("labels.toml", "practice.toml")
    )
    of_pack = {
        id: RelationText(
            id,
            (r.label, *other_labels.get(id, ())),
            r.subject_type,
            r.object_type,
            r.phrasings,
            r.statements,
        )
        for id, r in pack.relations.items()
    }
    return of_pack, {
        id: RelationText(
            id, (t["label"], *t["others"]), t["of"], t["object"], tuple(t["phrasings"]), is_practice=True
        )
        for id, t in practice.items()
    }


def split_relations(pack: Pack, seed: int, n_tuning: int) -> Relations:
    """Deal the pack's relations and those of practice.toml to training, tuning and the last measurement.

    Questions for relations for practice use their own words and a writer's; those for tuning use the words of the
    writer on whom choices are made.
    """
    of_pack, practice = read_relations(pack)
    tune = set(random.Random(f"{seed}/tune").sample(sorted(practice), n_tuning))
    trained, tuning = read_phrasings(TRAIN_HANDS), read_phrasings(CHOOSE_HANDS)
    practice = {
        id: replace(
            r,
            phrasings=tuning[id].questions
            if id in tune
            else tuple(dict.fromkeys((*r.phrasings, *trained[id].questions))),
        )
        for id, r in practice.items()
    }
    held_out = draw_held_out(pack, seed)
    return Relations(
        {id: r for id, r in {**of_pack, **practice}.items() if id not in tune and id not in held_out},
        {id: r for id, r in practice.items() if id in tune},
        {id: of_pack[id] for id in held_out},
    )


def draw_held_out(pack: Pack, seed: int) -> list[str]:
    """Draw one relation of each group, in the order of the groups."""
    rng = random.Random(seed)
    return [
        rng.choice(sorted(r.id for r in pack.relations.values() if r.subject_type in group))
        for group in GROUPS
    ]


def fits(relation: RelationText, type: str) -> bool:
    """Return whether an entity of this type may have the relation."""
    return relation.subject in (ANY, type, *KINDS.get(type, ())) or type in ("thing", "concept")


@torch.no_grad()
def sort_by_nearness(
    ids: Sequence[str], first: Float[Tensor, "relation width"], second: Float[Tensor, "relation width"]
) -> dict[str, list[str]]:
    """Return for each relation the others, by the cosine of its first vector and their second ones."""
    cosines = F.normalize(first, dim=-1) @ F.normalize(second, dim=-1).T
    order = cosines.argsort(dim=1, descending=True).tolist()
    return {id: [ids[other] for other in row if ids[other] != id] for id, row in zip(ids, order, strict=True)}
