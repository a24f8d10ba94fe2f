"""Five relations, two ways to ask for each, and a reader that learns them in seconds."""

from dataclasses import replace
from functools import cache

from models.encoder.minilm import MiniLM
from models.relational.checkpoint import Model
from models.relational.question import TextReader
from models.training.kit.plan import Plan
from models.training.relational.compositions import Compositions, with_inverses
from models.training.relational.exam import calibrate
from models.training.relational.examples import ExampleMaker
from models.training.relational.learning import Learning
from models.training.relational.training import PLAN as DEFAULT
from models.training.relational.wordings import Wordings, turn_phrasings
from models.training.texts.phrasings import Phrasings
from models.training.texts.relations import RelationText

ROWS = {
    "capital": ("country", "place", "Name the capital of {subject}.", "the capital of {subject}"),
    "mayor": ("place", "person", "Who is the mayor of {subject}?", "the mayor of {subject}"),
    "spouse": ("person", "person", "Who married {subject}?", "the spouse of {subject}"),
    "employer": ("person", "organization", "Who employs {subject}?", "the employer of {subject}"),
    "founded": ("organization", "year", "When was {subject} founded?", "the founding year of {subject}"),
}
LABELS = {"founded": "year of foundation"}
RELATIONS = {
    id: RelationText(id, (LABELS.get(id, id),), subject, object, (question,))
    for id, (subject, object, question, _) in ROWS.items()
}
MIXTURE = DEFAULT.mixture.change(
    broken=0.25,
    count=0.1,
    yes_no=0.1,
    other_label=0.0,
    slip=0.0,
    bare=0.0,
    most_facts=3,
)
CONFIG = {"width": 64, "heads": 4, "layers": 1, "rank": 16, "fan_out": 8, "max_nodes": 64, "fan_in": 0}
PLAN = DEFAULT.change(
    config=CONFIG,
    mixture=MIXTURE,
    steps=300,
    batch=16,
    lr=4e-3,
    warmup=10,
    n_exam=40,
    max_declined=0.0,
)
BOTH_WAYS_PLAN = PLAN.change(config={"fan_in": 8}, steps=600)
FRAMES = Plan(
    {
        "count": ("How many are {noun}?",),
        "count_by_label": (),
        "yes_no": ("Is {object} {noun}?",),
        "yes_no_by_label": (),
        "subject_nouns": ("the {type} whose {label} is {subject}",),
        "subject_questions": (),
        "around_nouns": ("What is {noun}?", "Name {noun}."),
    }
)
MAKER = ExampleMaker(
    Compositions(RELATIONS, 10**9, 1),
    Wordings(
        {id: Phrasings((question,), (noun,)) for id, (_, _, question, noun) in ROWS.items()},
        FRAMES,
        MIXTURE,
        True,
    ),
    MIXTURE,
    RELATIONS,
    {},
    PLAN.config.hops,
)


@cache
def reader() -> TextReader:
    return TextReader(MiniLM())


@cache
def toy_model() -> Model:
    """Train on the toy world, and calibrate."""
    learning = Learning(PLAN, reader(), MAKER.draw, print)
    learning.run(None)
    confidence = calibrate(PLAN, learning.network, reader(), (MAKER,))
    return Model(learning.network, reader(), confidence, "sha256:toy")


def both_ways_maker() -> ExampleMaker:
    """Return the maker of a reader that walks back, too."""
    words = MAKER.wordings
    turns = turn_phrasings(RELATIONS.values(), words.phrasings, FRAMES)
    return replace(
        MAKER,
        compositions=replace(MAKER.compositions, relations=with_inverses(RELATIONS), inverse=0.4),
        wordings=replace(words, phrasings={**words.phrasings, **turns}),
        beside=with_inverses(RELATIONS),
        walks_back=True,
    )


@cache
def both_ways_model() -> Model:
    """Train a reader that walks from objects to subjects, too."""
    maker = both_ways_maker()
    learning = Learning(BOTH_WAYS_PLAN, reader(), maker.draw, print)
    learning.run(None)
    confidence = calibrate(BOTH_WAYS_PLAN, learning.network, reader(), (maker,))
    return Model(learning.network, reader(), confidence, "sha256:both ways")
