"""The whole build on a handful of facts: same facts, same bytes, and a pack that loads."""

import os
import subprocess
import sys
from pathlib import Path

from models.packs.files import FILES
from models.packs.pack import Pack, Relation
from models.training.packs.make import make
from models.training.packs.raw import RawFact, Source
from models.training.packs.writing import write

COUNTRIES = ["Peru", "Chile", "Bolivia", "Ecuador", "Colombia"]

FACTS = [
    *(RawFact(c, "capital", f"{c}ville", Source.REFERENCE, f"iso:{c[:2].upper()}") for c in COUNTRIES),
    *(RawFact("Peru", "neighbours", other, Source.REFERENCE, "iso:PE") for other in COUNTRIES[1:]),
    *(
        RawFact(f"Person {n}", "place_of_birth", f"Town {n}", Source.WIKIDATA, f"Q{n}", f"Q9{n}")
        for n in range(9)
    ),
    *(RawFact(f"Novel {n}", "author", f"Writer {n % 7}", Source.ENTITYQUESTIONS) for n in range(40)),
    *(RawFact(f"Étude {n}", "author", f"Person {n}", Source.ENTITYQUESTIONS) for n in range(9)),
]

DIGEST = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from test_make import FACTS
from models.training.packs.make import make
from models.training.packs.writing import write
from models.packs.pack import read_relations
folder = Path({folder!r})
write(make(FACTS, read_relations(folder / "relations.toml")), folder)
"""


def test_what_is_written_is_what_is_read(folder: Path, relations: dict[str, Relation]) -> None:
    made = make(FACTS, relations)
    write(made, folder)
    assert Pack.load(folder) == made


def test_a_second_build_in_another_process_is_the_same_bytes(folder: Path) -> None:
    builds = []
    for seed in ("1", "2"):
        program = DIGEST.format(here=str(Path(__file__).parent), folder=str(folder))
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", program], check=True, env=environment, cwd=Path.cwd())
        builds.append([(folder / name).read_bytes() for name in (*FILES, "pack.toml")])
    assert builds[0] == builds[1]


def test_the_order_of_the_facts_within_a_source_does_not_matter(relations: dict[str, Relation]) -> None:
    assert make(FACTS, relations) == make(FACTS[::-1], relations)


def test_an_entity_without_an_id_gets_one_from_its_label(relations: dict[str, Relation]) -> None:
    ids = {entity.label: entity.id for entity in make(FACTS, relations).entities.values()}
    assert ids["Étude 3"] == "w:etude-3"
    assert ids["Person 3"] == "Q3"
    assert ids["Peru"] == "iso:PE"


def test_the_built_pack_has_probes_of_every_relation(relations: dict[str, Relation]) -> None:
    assert {probe.relation_id for probe in make(FACTS, relations).probes} == set(relations)
