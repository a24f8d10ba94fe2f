"""A plan that takes seconds, on facts about a few countries, and a network that it trained."""

from dataclasses import replace

import pytest

from models.packs.pack import WORLD, Pack
from models.thu_ernie.answering.checkpoint import minilm_vocabulary
from models.training.harness.progress import Progress
from models.training.thu_ernie.facts import World
from models.training.thu_ernie.learning import Learning
from models.training.thu_ernie.plan import DEFAULT, Plan
from models.training.thu_ernie.prepare import Setup
from models.training.thu_ernie.questions import QuestionMaker
from models.training.thu_ernie.translation import Triples, train_rows
from models.training.thu_ernie.wordings import Wordings
from tests.one_thread import one_thread as one_thread

N_FACTS = 300
PLAN = replace(
    DEFAULT,
    config=replace(
        DEFAULT.config,
        width=48,
        heads=4,
        inner=96,
        kinds=("sim", "mix", "norm"),
        entity_size=24,
        init_std=0.1,
    ),
    translation=replace(DEFAULT.translation, epochs=40, batch=64, sharpness=10.0, norm=5.0, threshold=5.0),
    mixture=replace(DEFAULT.mixture, n_questions=12, slip=0.0),
    frozen=("bert.embeddings.", "bert.pooler."),
    settings=replace(DEFAULT.settings, margin=4.0),
    row_scale=0.2,
    steps=45,
    keep_every=10,
    warmup=3,
    fresh_lr=5e-3,
    n_exam=2,
    n_edits=3,
    n_joint_edits=40,
)


@pytest.fixture(scope="session")
def plan() -> Plan:
    return PLAN


@pytest.fixture(scope="session")
def small_pack() -> Pack:
    pack = Pack.load(WORLD)
    facts = pack.facts[:N_FACTS]
    relations = {fact.relation_id: pack.relations[fact.relation_id] for fact in facts}
    names = {name for fact in facts for name in (fact.subject_id, fact.object_id)}
    entities = {id: entity for id, entity in pack.entities.items() if id in names}
    return replace(pack, facts=facts, relations=relations, entities=entities)


@pytest.fixture(scope="session")
def world(small_pack: Pack) -> World:
    triples = Triples.of(small_pack)
    rows = train_rows(triples, PLAN.translation, PLAN.config.entity_size, PLAN.seed)
    return World(small_pack, triples, rows, PLAN.settings.margin)


@pytest.fixture(scope="session")
def setup(world: World) -> Setup:
    wordings = Wordings.of(world.pack)
    return Setup(
        "same",
        world,
        wordings,
        QuestionMaker(world, wordings, PLAN.mixture),
        minilm_vocabulary(),
    )


@pytest.fixture(scope="session")
def learning(setup: Setup, tmp_path_factory: pytest.TempPathFactory) -> Learning:
    learning = Learning(PLAN, setup, lambda line: None)
    learning.run(Progress(tmp_path_factory.mktemp("work"), "same"))
    return learning
