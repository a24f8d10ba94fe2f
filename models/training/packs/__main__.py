"""`python -m models.training.packs --facts FOLDER` builds the pack `world`: models/packs/world/README.md."""

import argparse
from itertools import chain
from pathlib import Path

from models.packs.pack import WORLD, read_relations
from models.training.packs.assembly import make
from models.training.packs.countries import countries
from models.training.packs.elements import elements
from models.training.packs.names import NAMES, write_names
from models.training.packs.raw import entityquestions, wikidata
from models.training.packs.samples import draw_names
from models.training.packs.writing import write


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m models.training.packs", description=__doc__)
    parser.add_argument("--facts", type=Path, required=True, help="folder of the fact tables")
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
    pack_names = [name for entity in pack.entities.values() for name in entity.names]
    names = draw_names(entityquestions(options.facts, relations), pack_names)
    write_names(names)
    print(f"{NAMES}: {len(names)} names that it does not hold")


if __name__ == "__main__":
    main()
