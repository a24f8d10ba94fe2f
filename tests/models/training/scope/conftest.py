"""A small WordNet, a few pairs of other people, and the relations as they are dealt."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from models.encoder.minilm import MiniLM
from models.packs.pack import WORLD, Pack
from models.training.scope.pairs import Source
from models.training.scope.relations import Read, deal_relations
from models.training.scope.training import PLAN
from models.training.scope.trials import read_near
from models.training.scope.written import WrittenFacts, read_facts, split_facts
from models.training.texts.relations import Relations

# Offset, file, part of speech, words with their numbers, pointers (symbol, offset, part, words), a gloss.
FILES = {
    "data.noun": """\
00000001 03 n 01 limit 0 002 ~ 00000002 n 0000 ~ 00000003 n 0000 | top
00000002 03 n 01 minimum 0 002 @ 00000001 n 0000 ! 00000003 n 0101 | least
00000003 03 n 01 maximum 0 002 @ 00000001 n 0000 ! 00000002 n 0101 | most
00000004 03 n 01 woman 0 002 ~ 00000005 n 0000 ~ 00000006 n 0000 | top
00000005 03 n 02 aunt 0 auntie 0 001 @ 00000004 n 0000 | sister of a parent
00000006 03 n 01 niece 0 001 @ 00000004 n 0000 | daughter of a sibling
""",
    "data.verb": "00000009 30 v 01 close 0 000 00 | shut\n",
    "data.adj": "00000010 00 a 01 open 0 000 | not shut\n",
    "data.adv": "00000011 02 r 01 never 0 000 | not ever\n",
    "index.noun": """\
minimum n 1 2 ! @ 1 1 00000002
maximum n 1 2 ! @ 1 1 00000003
aunt n 1 1 @ 1 1 00000005
auntie n 1 1 @ 1 0 00000005
niece n 1 1 @ 1 1 00000006
""",
    "index.verb": "close v 1 0 1 1 00000009\n",
    "index.adj": "open a 1 0 1 1 00000010\n",
    "index.adv": "never r 1 0 1 1 00000011\n",
    "cntlist.rev": "minimum%1:03:00:: 1 5\nmaximum%1:03:00:: 1 5\n"
    "aunt%1:18:00:: 1 2\nauntie%1:18:00:: 1 1\nniece%1:18:00:: 1 2\n",
}
PAIRS = [
    (
        "What is the minimum age of drivers in Oslo?",
        "How old is the youngest driver in Oslo?",
        1,
        "pos.rephrase",
    ),
    ("Who wrote the Iliad in Greece?", "By whom was the Iliad written?", 1, "pos.rephrase"),
    (
        "When did Ada Lovelace die in London?",
        "When did no wait where did Ada Lovelace die?",
        1,
        "pos.disfluent",
    ),
    ("What is the capital of Norway?", "What is the capital of Sweden?", 0, "neg.entity"),
    ("The dog of the man barks .", "The man of the dog barks .", 0, "paws.neg"),
    ("It rains in Oslo often .", "It often rains in Oslo .", 1, "paws.pos"),
]


@pytest.fixture(scope="session")
def wordnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wordnet")
    for name, content in FILES.items():
        (folder / name).write_text("  1 a licence\n" + content)
    return folder


@pytest.fixture(scope="session")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    (folder / "pairs").mkdir()
    rows = [dict(zip(("a", "b", "same", "kind"), pair, strict=True)) for pair in PAIRS]
    with gzip.open(folder / "pairs" / "typed_pairs.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return folder


@pytest.fixture(scope="session")
def encoder() -> MiniLM:
    return MiniLM()


@pytest.fixture(scope="session")
def read(encoder: MiniLM) -> Read:
    def read_texts(texts: Sequence[str]) -> torch.Tensor:
        return torch.cat([encoder.encode(texts[at : at + 64]).sentences for at in range(0, len(texts), 64)])

    return read_texts


@pytest.fixture(scope="session")
def relations(read: Read) -> Relations:
    return deal_relations(PLAN, Pack.load(WORLD), read)


@pytest.fixture(scope="session")
def facts(read: Read) -> WrittenFacts:
    return split_facts(read_facts(), 25, PLAN.seed, read_near().edits, read)


@pytest.fixture(scope="session")
def source(relations: Relations, facts: WrittenFacts, sets: Path, wordnet: Path) -> Source:
    return Source.read(Pack.load(WORLD), PLAN.seed, relations.train, facts.train, sets, wordnet)
