"""`python -m models.training.packs --facts FOLDER` builds the pack `world`: models/packs/world/README.md."""

import argparse
from dataclasses import astuple
from itertools import chain
from pathlib import Path

from models.packs.pack import WORLD, read_relations
from models.training.packs.assembly import make, write
from models.training.packs.names import COLUMNS, NAMES, write_rows
from models.training.packs.samples import draw_names
from models.training.packs.sources import Source, countries, elements, read_table


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m models.training.packs", description=__doc__)
    parser.add_argument("--facts", type=Path, required=True, help="folder of the fact tables")
    parser.add_argument("--out", type=Path, default=WORLD, help="folder of the pack; holds relations.toml")
    options = parser.parse_args()
    relations = read_relations(options.out / "relations.toml")
    tables = (
        read_table(options.facts, source, relations) for source in (Source.WIKIDATA, Source.ENTITYQUESTIONS)
    )
    pack = make(chain(countries(), elements(), *tables), relations)
    write(pack, options.out)
    print(f"{options.out}: {sum(1 for _ in pack.items())} items, {len(pack.entities)} entities")
    pack_names = [name for entity in pack.entities.values() for name in entity.names]
    names = draw_names(read_table(options.facts, Source.ENTITYQUESTIONS, relations), pack_names)
    write_rows(NAMES, COLUMNS, map(astuple, names))
    print(f"{NAMES}: {len(names)} names that it does not hold")


if __name__ == "__main__":
    main()
