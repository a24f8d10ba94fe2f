"""The chemical elements, as the package mendeleev has them.

Its names of discoverers are left out: they are spelled in several ways and some are wrong. So are symbols as
aliases: "In", "As", "He" and "No" are words.
"""

from collections.abc import Iterator

from models.training.packs.raw import RawFact, Source

CATEGORIES = {
    "Nonmetals": "nonmetal",
    "Noble gases": "noble gas",
    "Alkali metals": "alkali metal",
    "Alkaline earth metals": "alkaline earth metal",
    "Metalloids": "metalloid",
    "Halogens": "halogen",
    "Poor metals": "post-transition metal",
    "Transition metals": "transition metal",
    "Lanthanides": "lanthanide",
    "Actinides": "actinide",
}

DOUBTFUL_YEARS = {"Nd": "isolated in 1885, not 1925", "Nh": "made in 2004, named in 2016"}

ALIASES = {"aluminum": ("aluminium",), "cesium": ("caesium",), "sulfur": ("sulphur",)}


def elements() -> Iterator[RawFact]:
    """Yield the facts of each element, in the order of the periodic table."""
    from mendeleev import get_all_elements  # slow to import, and needed here alone

    for element in get_all_elements():
        year = None if element.symbol in DOUBTFUL_YEARS else element.discovery_year
        values = {
            "symbol": element.symbol,
            "atomic_number": element.atomic_number,
            "element_group": element.group_id,
            "element_block": element.block,
            "element_period": element.period,
            "discovery_year": year,
            "element_category": CATEGORIES[element.series],
        }
        for relation, value in values.items():
            if value is not None:
                yield RawFact(
                    element.name.lower(), relation, str(value), Source.REFERENCE, f"iupac:{element.symbol}"
                )
