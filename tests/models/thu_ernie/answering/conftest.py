"""A tiny answering head."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from models.confidence import Confidence
from models.encoder.weights import find
from models.graph.base import Base
from models.graph.knowledge import Entity, Fact, Mention
from models.graph.statement import LABEL, RELATION, Statement
from models.kit.text import WordPieces
from models.packs.pack import Relation
from models.system import Ask
from models.thu_ernie.checkpoint import TABLE, save
from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.entities.table import EntityTable, write_table
from models.thu_ernie.heads import ErnieAnswers
from models.thu_ernie.reader import SCALES, Model, Settings
from tests.one_thread import one_thread as one_thread

SIZE = 12
NAMES = (
    "kim",
    "ada",
    "oslo",
    "rome",
    "=1.80 m",
    RELATION + "birth",
    RELATION + "spouse",
    RELATION + "height",
)
ANSWERS = {"Oslo": "oslo", "Rome": "rome", "Ada": "ada", "1.80 m": "=1.80 m"}
SETTINGS = Settings(question_room=32, subjects=4, margin=20.0)
SCALE = Confidence((1.0, 0.1), 0.0, 0.0)  # says the best answer, however unsure
KIM = Entity(
    "kim",
    "Kim",
    ("Kimberly",),
    facts=(
        Fact("birth", "place of birth", "Oslo", "oslo"),
        Fact("spouse", "spouse", "Ada", "ada", "edit 7"),
        Fact("height", "height", "1.80 m"),
    ),
)
ADA = Entity("ada", "Ada", facts=(Fact("birth", "place of birth", "Rome", "rome"),))
QUESTION = "What is the place of birth of Kim?"


def build_network() -> ErnieAnswers:
    """Return the network; each call gives the same."""
    torch.manual_seed(3)
    config = ErnieConfig(
        vocab=30522,
        width=24,
        heads=3,
        inner=32,
        positions=64,
        segments=2,
        kinds=("sim", "mix", "norm"),
        entity_size=SIZE,
        entity_heads=4,
        dropout=0.1,
        attention_dropout=0.0,
        init_std=0.3,
    )
    return ErnieAnswers(config).eval().requires_grad_(False)


def write_rows(folder: Path) -> Path:
    """Write the table, and return its folder."""
    rows = np.random.default_rng(5).normal(size=(len(NAMES), SIZE)).astype(np.float32)
    write_table(folder, SIZE, [rows], ((name, place) for place, name in enumerate(NAMES)))
    return folder


def write_checkpoint(folder: Path) -> Path:
    """Write a checkpoint that a service can load, and return its folder."""
    write_rows(folder / TABLE)
    save(build_network(), ANSWERS, SETTINGS, dict.fromkeys(SCALES, SCALE), folder)
    return folder


def build_base() -> Base:
    """Return a graph in which Kim was born in Oslo and Ada in Rome."""
    statements = {
        "kim": (
            Statement(LABEL, "Kim"),
            Statement("birth", "Oslo", "oslo"),
            Statement("spouse", "Ada", "ada"),
            Statement("height", "1.80 m"),
        ),
        "ada": (Statement(LABEL, "Ada"), Statement("birth", "Rome", "rome")),
        "oslo": (Statement(LABEL, "Oslo"),),
        "rome": (Statement(LABEL, "Rome"),),
    }
    relations = {
        id: Relation(
            id, label, None, "one", "person", "any", (f"What is the {label} of {{subject}}?",), (), ()
        )
        for id, label in (("birth", "place of birth"), ("spouse", "spouse"), ("height", "height"))
    }
    return Base("sha256:" + "0" * 64, statements, relations)


@pytest.fixture(scope="session")
def network() -> ErnieAnswers:
    return build_network()


@pytest.fixture(scope="session")
def table_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("answers") / "entities")


@pytest.fixture(scope="session")
def table(table_folder: Path) -> EntityTable:
    return EntityTable.open(table_folder, SIZE)


@pytest.fixture(scope="session")
def model(network: ErnieAnswers, table: EntityTable) -> Model:
    scales = dict.fromkeys(SCALES, SCALE)
    return Model(network, WordPieces(find().tokenizer()), table, ANSWERS, SETTINGS, scales, "sha256:test")


@pytest.fixture(scope="session")
def ask_about() -> Callable[..., Ask]:
    """Return a question that mentions entities by their labels."""

    def build(text: str, *entities: Entity, **fields: object) -> Ask:
        mentions = []
        for entity in entities:
            begin = text.index(entity.label)
            mentions.append(Mention(begin, begin + len(entity.label), (entity,)))
        return Ask(text, mentions=tuple(mentions), **fields)  # type: ignore[arg-type]

    return build
