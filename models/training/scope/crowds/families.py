"""Families of relations of one subject that curators have side by side: opening and closing hour, prices by age.

families.txt has their wordings with alternatives, which are written out here.
"""

import itertools
import random
import re
from dataclasses import dataclass
from pathlib import Path

from models.training.scope.relations import SUBJECT
from models.training.texts.relations import RelationText

FILE = Path(__file__).parent / "families.txt"
MAX_WORDINGS = 40  # wordings of one template
CHOICE = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
HEAD = re.compile(r"\* (.+) \((.+)\)")


@dataclass(frozen=True)
class Families:
    """Relations by id, and the types of subject and the ids of each family."""

    relations: dict[str, RelationText]
    groups: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


def expand(template: str) -> list[str]:
    """Return every text of a template, in which (a|b) are alternatives and [a] may be missing."""
    choices: list[list[str]] = []
    place = 0
    for match in CHOICE.finditer(template):
        choices.append([template[place : match.start()]])
        choices.append(["", match[2]] if match[1] is None else match[1].split("|"))
        place = match.end()
    texts = ("".join(parts) for parts in itertools.product(*choices, [template[place:]]))
    return [re.sub(r" +", " ", text).replace(" ?", "?").strip() for text in texts]


def read_families(seed: int, file: Path = FILE) -> Families:
    """Read the families; of a template with more than MAX_WORDINGS wordings, that many are drawn."""
    rng = random.Random(seed)
    relations: dict[str, RelationText] = {}
    groups: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    for block in file.read_text("utf-8").split("\n= ")[1:]:
        types, *rest = block.split("\n* ")
        relations_here = [_read_relation(types.split()[0], f"* {text}", len(groups), rng) for text in rest]
        relations |= {relation.id: relation for relation in relations_here}
        groups.append((tuple(types.split()), tuple(relation.id for relation in relations_here)))
    return Families(relations, tuple(groups))


def _read_relation(type: str, text: str, family: int, rng: random.Random) -> RelationText:
    head, *templates = text.splitlines()
    match = HEAD.fullmatch(head)
    if match is None:
        raise ValueError(f"{head!r} is no relation: write '* label (type of the answer)'")
    wordings: list[str] = []
    for template in templates:
        texts = expand(template.replace("{s}", SUBJECT)) if template.strip() and template[0] != "#" else []
        wordings += texts if len(texts) <= MAX_WORDINGS else rng.sample(texts, MAX_WORDINGS)
    unique = tuple(dict.fromkeys(wordings))
    return RelationText(f"family/{family}/{match[1]}", (match[1],), type, match[2], unique)
