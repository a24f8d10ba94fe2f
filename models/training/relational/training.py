"""The training of the relational reader: its inputs, its steps, its scale and its exam."""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import torch

from models.device import learns_in_bfloat16
from models.encoder.minilm import MiniLM
from models.graph.memory import GraphMemory
from models.packs.pack import Pack
from models.relational.checkpoint import load, save
from models.relational.network import Config
from models.relational.question import TextReader
from models.relational.system import RelationalSystem
from models.training.kit.card import fill_card
from models.training.kit.fingerprint import DataFiles
from models.training.kit.plan import Plan, read_plan
from models.training.kit.run import Run
from models.training.relational.compositions import Compositions, with_inverses
from models.training.relational.exam import PackQuestions, calibrate, draw_groups, measure_group
from models.training.relational.examples import ExampleMaker
from models.training.relational.learning import Learning
from models.training.relational.wordings import FRAMES, Wordings, turn_phrasings
from models.training.texts.phrasings import read_phrasings, without
from models.training.texts.relations import RelationText, sort_by_nearness, split_relations

FOLDER = Path(__file__).parent
PLAN = read_plan(FOLDER)
TRAIN_HANDS, TEST_HANDS = (1, 2), (3,)  # writers whose words training reads, and whom only the exam does
SHARE_OF_SUBJECTS = 0.5  # share of hops that lead to a subject, among questions of the exam


def train(run: Run) -> bool:
    """Train, calibrate and write the checkpoint; deterministic for a plan, a pack and a processor."""
    reader = TextReader(MiniLM())
    files, makers, _ = prepare(run.plan, run.pack, reader)
    dtype = torch.bfloat16 if learns_in_bfloat16(torch.device("cpu")) else torch.float32
    learning = Learning(run.plan, TextReader(MiniLM(dtype=dtype)), makers["train"].draw, run.say)
    if not run.take(learning, files.fingerprint(run.plan.to_json())):
        return False
    run.say("calibrating")
    scale = calibrate(run.plan, learning.network, reader, (makers["train"], makers["tune"]))
    save(learning.network, scale, run.out)
    return True


def measure(run: Run) -> None:
    """Measure the checkpoint, and write its card beside it."""
    system = RelationalSystem(load(run.out))
    plan = run.plan.change(config=asdict(system.model.config))
    _, makers, pack = prepare(plan, run.pack, system.model.reader)
    figures = {}
    for name, examples in draw_groups(plan, makers, pack).items():
        figures[name] = measure_group(system, examples)
        run.say(f"{name}: {figures[name]}")
    fill_card(run.out, FOLDER / "card.md", figures, minutes=run.minutes)


def prepare(
    plan: Plan, folder: Path, reader: TextReader
) -> tuple[DataFiles, dict[str, ExampleMaker], PackQuestions]:
    """Split relations and writers; `folder` is the folder of the pack.

    Returns:
        The files that were read; makers of examples: `tune` has relations that only calibration sees, in trained words,
        `test` the words of the third writer, `new` relations that no weight saw, and `inverse`, if the reader
        walks back, paths that lead to a subject; and questions for facts of the pack, of trained relations.
    """
    with DataFiles(folder) as files:
        relations = split_relations(Pack.load(folder), plan.seed, plan.n_tuning)
        trained_phrasings = read_phrasings(TRAIN_HANDS)
        test_phrasings = without(read_phrasings(TEST_HANDS), trained_phrasings)
        frames = Plan(tomllib.loads(FRAMES.read_text("utf-8")))
    every = {**relations.train, **relations.tune, **relations.held_out}
    config = plan.config.make(Config)
    walks_back = config.fan_in > 0
    both_ways = with_inverses if walks_back else dict
    trained_words, other_words = (
        Wordings({**words, **turn_phrasings(every.values(), words, part)}, part, plan.mixture, is_trained)
        for words, part, is_trained in (
            (trained_phrasings, frames.train, True),
            (test_phrasings, frames.test, False),
        )
    )
    every = both_ways(every)
    labels = reader.label_vectors([relation.labels[0] for relation in every.values()])
    vectors = torch.stack([labels[relation.labels[0]] for relation in every.values()])
    near = sort_by_nearness(list(every), vectors, vectors)

    def maker(paths: Mapping[str, RelationText], words: Wordings, inverse: float = 0.0) -> ExampleMaker:
        is_training = words is trained_words and paths is relations.train
        beside = both_ways(relations.train) if is_training else every
        asked_paths = both_ways(paths) if inverse else paths
        compositions = Compositions(asked_paths, plan.held_compositions, plan.seed, inverse)
        return ExampleMaker(compositions, words, plan.mixture, beside, near, config.hops, walks_back)

    inverse = plan.mixture.inverse if walks_back else 0.0
    memory = GraphMemory.of(folder)
    walkable = Compositions(relations.train, plan.held_compositions, plan.seed)
    makers = {
        "train": maker(relations.train, trained_words, inverse),
        "tune": maker(relations.tune, trained_words, inverse),
        "test": maker(relations.train, other_words),
        "new": maker({**relations.held_out, **relations.tune}, other_words),
    }
    if walks_back:
        makers["inverse"] = maker(relations.train, other_words, SHARE_OF_SUBJECTS)
    return files, makers, PackQuestions(memory.view(memory.base), walkable, other_words, config)
