"""The form of the facts of every source, and the two sources that are plain tables."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from models.packs.pack import Relation


class Source(IntEnum):
    """The source of a fact; if two disagree, the one with the lower number is believed."""

    REFERENCE = 0
    WIKIDATA = 1
    ENTITYQUESTIONS = 2


@dataclass(frozen=True, slots=True)
class RawFact:
    """A fact in the words of its source; an id is empty if the source gives none."""

    subject: str
    relation: str
    object: str
    source: Source
    subject_id: str = ""
    object_id: str = ""


def wikidata(facts: Path, relations: dict[str, Relation]) -> Iterator[RawFact]:
    relation_ids = _by_property(relations)
    for row in _table(facts / "wikidata.tsv.gz"):
        if row["relation_id"] in relation_ids:
            yield RawFact(
                row["subject"],
                relation_ids[row["relation_id"]],
                row["object"],
                Source.WIKIDATA,
                row["subject_id"],
                row["object_id"],
            )


def entityquestions(facts: Path, relations: dict[str, Relation]) -> Iterator[RawFact]:
    relation_ids = _by_property(relations)
    for row in _table(facts / "entityquestions.tsv.gz"):
        if row["relation_id"] in relation_ids:
            yield RawFact(
                row["subject"], relation_ids[row["relation_id"]], row["object"], Source.ENTITYQUESTIONS
            )


def _by_property(relations: dict[str, Relation]) -> dict[str, str]:
    return {relation.property: relation.id for relation in relations.values() if relation.property}


def _table(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        header = next(lines).rstrip("\n").split("\t")
        for line in lines:
            yield dict(zip(header, line.rstrip("\n").split("\t"), strict=True))
