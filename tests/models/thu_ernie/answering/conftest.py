"""The tiny network and its table as a model, and questions about its people."""

from collections.abc import Callable
from pathlib import Path

import pytest

from models.graph.knowledge import Entity, Mention
from models.system import Ask
from models.thu_ernie.checkpoint import minilm_vocabulary
from models.thu_ernie.entities.table import EntityTable
from models.thu_ernie.heads import ErnieAnswers
from models.thu_ernie.reader import SCALES, Model
from tests.models.thu_ernie.answering.tiny import ANSWERS, SCALE, SETTINGS, SIZE, build_network, write_rows
from tests.one_thread import one_thread as one_thread


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
