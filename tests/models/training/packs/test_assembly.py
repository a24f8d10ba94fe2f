"""The shipped pack is assembled from its sources."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from models.packs.files import FILES
from models.packs.pack import Pack, Relation
from models.training.packs.assembly import make, write
from models.training.packs.samples import NameSpans
from models.training.packs.sources import RawFact, Source
from tests.models.packs.conftest import folder as folder
from tests.models.packs.conftest import relations as relations

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

PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from test_assembly import FACTS
from models.training.packs.assembly import make, write
from models.packs.pack import read_relations
folder = Path({folder!r})
write(make(FACTS, read_relations(folder / "relations.toml")), folder)
"""

Relations = dict[str, Relation]


def book(subject: str, writer: str, source: Source = Source.ENTITYQUESTIONS) -> RawFact:
    return RawFact(subject, "author", writer, source)


def birth(subject: str, town: str, subject_id: str = "", town_id: str = "") -> RawFact:
    source = Source.WIKIDATA if subject_id else Source.ENTITYQUESTIONS
    return RawFact(subject, "place_of_birth", town, source, subject_id, town_id)


def questions(facts: list[RawFact], relations: Relations) -> set[tuple[str, str, str]]:
    """Return subject, relation and answer of each item of the pack that is made of these facts and FACTS."""
    items = {(i.subject.label, i.relation.id, i.answer) for i in make([*FACTS, *facts], relations).items()}
    return items - {(i.subject.label, i.relation.id, i.answer) for i in make(FACTS, relations).items()}


def test_what_is_written_is_what_is_read(folder: Path, relations: Relations) -> None:
    pack = make(FACTS, relations)
    write(pack, folder)
    assert Pack.load(folder) == pack
    assert {probe.relation_id for probe in pack.probes} == set(relations)


def test_a_second_build_in_another_process_is_the_same_bytes(folder: Path) -> None:
    builds = []
    for seed in ("1", "2"):
        program = PROGRAM.format(here=str(Path(__file__).parent), folder=str(folder))
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", program], check=True, env=environment, cwd=Path.cwd())
        builds.append([(folder / name).read_bytes() for name in (*FILES, "pack.toml")])
    assert builds[0] == builds[1]


@pytest.mark.parametrize(
    "facts",
    [
        [book("x", "Anna Berg")],
        [book("Emma (novel)", "Anna Berg")],
        [book("a" * 41, "Anna Berg")],
        [book("The Author", "Anna Berg")],
        [book("honey", "Anna Berg")],
        [book("Emma", "emma")],
        [birth("John Morgan", "Cardiff"), birth("john morgan", "Swansea"), book("John Morgan", "Anna Berg")],
        [birth("Berta Lie", "Oslo", "Q71", "Q72"), birth("berta lie", "Bergen")],
        [book("Emma", "Jane Austen"), birth("Emma", "Oslo")],
        [RawFact("Peru", "capital", "Cusco", Source.ENTITYQUESTIONS)],
    ],
    ids=[
        "too short",
        "with a bracket",
        "too long",
        "words of the questions alone",
        "a common noun",
        "its own answer",
        "two people of one name",
        "sources that contradict each other",
        "a person and a book",
        "another than the reference work",
    ],
)
def test_what_cannot_be_asked_about_or_may_be_of_another_thing_is_left_out(
    facts: list[RawFact], relations: Relations
) -> None:
    assert questions(facts, relations) == set()


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ([book("The Silver Capital", "Anna Berg")], {("The Silver Capital", "author", "Anna Berg")}),
        (
            [birth("Ada Lie", "Oslo"), birth("Berta Lie", "Oslo"), birth("Clara Lie", "OSLO")],
            {(f"{name} Lie", "place_of_birth", "Oslo") for name in ("Ada", "Berta", "Clara")},
        ),
        (
            [
                birth("Ada", "London", "Q71", "Q84"),
                birth("Anna Lie", "Ada", "Q73", "Q72"),
                birth("Berta Lie", "Ada", "Q74", "Q72"),
            ],
            {("Anna Lie", "place_of_birth", "Ada"), ("Berta Lie", "place_of_birth", "Ada")},
        ),
    ],
    ids=[
        "an ordinary name",
        "a label as it is spelled most often",
        "of two entities the one with more facts",
    ],
)
def test_what_is_clear_is_asked(
    facts: list[RawFact], expected: set[tuple[str, str, str]], relations: Relations
) -> None:
    assert questions(facts, relations) == expected


@pytest.mark.parametrize(
    ("label", "touches"),
    [
        *((label, True) for label in ("paris", "Paris Hilton", "Little Paris Bakery", "York")),
        *((label, False) for label in ("Parisian", "New Jersey", "City York New", "Anabel")),
    ],
)
def test_a_stranger_shares_no_whole_name_with_the_pack(label: str, touches: bool) -> None:
    assert NameSpans(["Paris", "New York City", "Ana"]).touches(label) == touches
