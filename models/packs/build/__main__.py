"""Builds the pack `world`: python -m models.packs.build --facts ../shared/facts"""

import argparse
from itertools import chain
from pathlib import Path

from models.packs.build.countries import countries
from models.packs.build.elements import elements
from models.packs.build.make import make
from models.packs.build.names import names
from models.packs.build.raw import entityquestions, wikidata
from models.packs.build.writing import write
from models.packs.names import NAMES, write_names
from models.packs.pack import WORLD, read_relations


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m models.packs.build", description=__doc__)
    parser.add_argument(
        "--facts", type=Path, default=Path("../shared/facts"), help="folder of the fact tables"
    )
    parser.add_argument("--out", type=Path, default=WORLD, help="folder of the pack; holds relations.toml")
    options = parser.parse_args()
    relations = read_relations(options.out / "relations.toml")
    sources = (
        countries(),
        elements(),
        wikidata(options.facts, relations),
        entityquestions(options.facts, relations),
    )
    pack = make(chain.from_iterable(sources), relations)
    write(pack, options.out)
    print(f"{options.out}: {sum(1 for _ in pack.items())} items, {len(pack.entities)} entities")
    held = [name for entity in pack.entities.values() for name in entity.names]
    drawn = names(entityquestions(options.facts, relations), held)
    write_names(drawn)
    print(f"{NAMES}: {len(drawn)} names that it does not hold")


if __name__ == "__main__":
    main()
