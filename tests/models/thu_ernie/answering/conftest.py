"""A network of random weights, a graph of invented people, and a table with their rows."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from models.confidence import Confidence
from models.graph.knowledge import Entity, Fact, Mention
from models.graph.statement import RELATION
from models.system import Ask
from models.thu_ernie.answering.checkpoint import minilm_vocabulary
from models.thu_ernie.answering.network import ErnieAnswers
from models.thu_ernie.answering.reader import SCALES, Model, Settings
from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.entities.files import write_table
from models.thu_ernie.entities.table import EntityTable
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
SETTINGS = Settings(question_room=32, subjects=4, window=24, stride=6, longest=5, n_best=8, margin=2.0)
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


@pytest.fixture(scope="session")
def network() -> ErnieAnswers:
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


@pytest.fixture(scope="session")
def table_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answers") / "entities"
    rows = np.random.default_rng(5).normal(size=(len(NAMES), SIZE)).astype(np.float32)
    write_table(folder, SIZE, [rows], ((name, place) for place, name in enumerate(NAMES)))
    return folder


@pytest.fixture(scope="session")
def table(table_folder: Path) -> EntityTable:
    return EntityTable.open(table_folder, SIZE)


@pytest.fixture(scope="session")
def model(network: ErnieAnswers, table: EntityTable) -> Model:
    scales = dict.fromkeys(SCALES, Confidence((1.0, 0.1), 0.0, 0.0))
    return Model(network, minilm_vocabulary(), table, ANSWERS, SETTINGS, scales, "sha256:test")


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
