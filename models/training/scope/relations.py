"""Relations for the judge's training, and relations that it never sees.

Whole relations are kept for the test and for choosing: no weight, threshold or rule follows from the test's. A
relation that was written for the judge alone is left out if it resembles a kept one, as the encoder reads their
phrasings.
"""

import random
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

from models.packs.pack import Pack
from models.training.kit.plan import Plan
from models.training.texts.phrasings import read_phrasings
from models.training.texts.relations import Relations, RelationText, read_relations

FILE = Path(__file__).parent / "relations.toml"
SUBJECT = "{subject}"
SAME, ALIKE, N_ALIKE = 0.93, 0.85, 3  # cosines from which one phrasing, or N_ALIKE, make two relations one
N_PHRASINGS = 8  # phrasings of other writers that are drawn for a relation
Read = Callable[[Sequence[str]], Float[Tensor, "text width"]]
ById = Mapping[str, RelationText]


def deal_relations(plan: Plan, pack: Pack, read: Read) -> Relations:
    """Deal the pack's relations, those for practice, and those of relations.toml to the three parts.

    Relations for training and for choosing have the phrasings of other writers, too.
    """
    of_pack, practice = read_relations(pack)
    rng = random.Random(plan.seed)
    practice_ids, pack_ids = sorted(practice), sorted(of_pack)
    rng.shuffle(practice_ids)
    rng.shuffle(pack_ids)
    n_held_out = plan.n_test + plan.n_choose
    test = {id: practice[id] for id in practice_ids[: plan.n_test]}
    choose = {id: practice[id] for id in practice_ids[plan.n_test : n_held_out]}
    choose |= {id: of_pack[id] for id in pack_ids[: plan.n_choose_pack]}
    train = {id: relation for id, relation in {**of_pack, **practice}.items() if id not in test | choose}
    for_judge = _unlike(read_own(), [*test.values(), *choose.values()], read)
    return Relations(add_phrasings(train, None) | for_judge, add_phrasings(choose, rng), test)


def add_phrasings(relations: ById, rng: random.Random | None) -> dict[str, RelationText]:
    """Add the words of other writers to the phrasings of relations: N_PHRASINGS that `rng` draws, or all."""
    phrasings = read_phrasings()
    longer = {}
    for id, relation in relations.items():
        questions = phrasings[id].questions if id in phrasings else ()
        sample = questions if rng is None else rng.sample(questions, min(N_PHRASINGS, len(questions)))
        longer[id] = replace(relation, phrasings=(*relation.phrasings, *sample))
    return longer


def in_other_words(relations: ById, seed: int) -> dict[str, RelationText]:
    """Return relations whose first phrasing is the pack's and whose others are drawn from other writers' words."""
    bare = {id: replace(relation, phrasings=relation.phrasings[:1]) for id, relation in relations.items()}
    return add_phrasings(bare, random.Random(seed))


def in_held_phrasings(relations: ById, pack: Pack) -> dict[str, RelationText]:
    """Return the relations of the pack among these, in phrasings that no model was trained on."""
    return {
        id: replace(relation, phrasings=(relation.phrasings[0], *pack.relations[id].held_out))
        for id, relation in relations.items()
        if id in pack.relations
    }


def read_own() -> dict[str, RelationText]:
    """Read the relations of relations.toml."""
    tables = tomllib.loads(FILE.read_text("utf-8"))
    del tables["names"]
    return {
        f"own/{id}": RelationText(
            f"own/{id}",
            (t["label"],),
            t["of"],
            t["object"],
            tuple(t["phrasings"]),
            opposite=tuple(f"own/{other}" for other in t["opposite"]),
        )
        for id, t in tables.items()
    }


def _unlike(for_judge: ById, held_out: Sequence[RelationText], read: Read) -> dict[str, RelationText]:
    held_out_readings = read([_bare(phrasing) for relation in held_out for phrasing in relation.phrasings])
    unlike = {}
    for id, relation in for_judge.items():
        cosines = read([_bare(phrasing) for phrasing in relation.phrasings]) @ held_out_readings.T
        is_alike = float(cosines.amax(0).topk(N_ALIKE).values.min()) > ALIKE
        if float(cosines.max()) <= SAME and not is_alike:
            unlike[id] = relation
    return unlike


def _bare(phrasing: str) -> str:
    return phrasing.replace(SUBJECT, "it")
