"""A pack small enough to read, for the tests that break it or build it."""

from pathlib import Path

import pytest

from models.packs.pack import Relation, read_relations

RELATIONS = """
[capital]
label = "capital"
property = "P36"
cardinality = "one"
subject_type = "place"
object_type = "place"
phrasings = [
  "What is the capital of {subject}?", "{subject}'s capital?", "capital of {subject}",
  "Name the capital of {subject}.", "Which city is the capital of {subject}?", "{subject} has which capital?",
]
held = ["{subject}'s capital city?", "{subject} is governed from where?", "Tell me the capital of {subject}."]
statements = ["The capital of {subject} is {object}.", "{object} is the capital of {subject}."]

[neighbours]
label = "neighbours"
cardinality = "many"
subject_type = "country"
object_type = "country"
phrasings = [
  "Which countries border {subject}?", "{subject}'s neighbours?", "neighbours of {subject}",
  "List the neighbours of {subject}.", "What lies around {subject}?", "Who are the neighbours of {subject}?",
]
held = ["What borders {subject}?", "{subject}'s bordering countries?", "Tell me what borders {subject}."]
statements = ["{subject} borders {object}.", "{object} borders {subject}."]

[author]
label = "author"
property = "P50"
cardinality = "one"
subject_type = "work"
object_type = "person"
phrasings = [
  "Who wrote {subject}?", "{subject}'s author?", "author of {subject}",
  "Name the author of {subject}.", "Who is the author of {subject}?", "By whom was {subject} written?",
]
held = ["Who was the writer of {subject}?", "{subject} is by whom?", "Tell me who wrote {subject}."]
statements = ["{subject} was written by {object}.", "{object} wrote {subject}."]

[place_of_birth]
label = "place of birth"
property = "P19"
cardinality = "one"
subject_type = "person"
object_type = "place"
phrasings = [
  "Where was {subject} born?", "{subject}'s birthplace?", "birthplace of {subject}",
  "Name the birthplace of {subject}.",
  "Which town was {subject} born in?", "In what town was {subject} born?",
]
held = ["{subject}'s place of birth?", "{subject} was born where?", "Tell me where {subject} was born."]
statements = ["{subject} was born in {object}.", "{object} is where {subject} was born."]
"""

ENTITIES = """id\tlabel\ttype\taliases
Q2868\tLima\tplace\t
Q298\tChile\tcountry\t
Q419\tPeru\tcountry\tRepublic of Peru | Perú
Q750\tBolivia\tcountry\t
"""

FACTS = """subject_id\trelation_id\tobject\tobject_id
Q419\tcapital\tLima\tQ2868
Q419\tneighbours\tBolivia\tQ750
Q419\tneighbours\tChile\tQ298
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A well-formed pack of three facts."""
    (tmp_path / "pack.toml").write_text('name = "andes"\nversion = "1"\n', "utf-8")
    (tmp_path / "relations.toml").write_text(RELATIONS, "utf-8")
    (tmp_path / "entities.tsv").write_text(ENTITIES, "utf-8")
    (tmp_path / "facts.tsv").write_text(FACTS, "utf-8")
    return tmp_path


@pytest.fixture
def relations(folder: Path) -> dict[str, Relation]:
    return read_relations(folder / "relations.toml")
