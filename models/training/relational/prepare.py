"""The inputs of every phase: relations and their splits, the writers' words, and near relations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

from models.graph.memory import GraphMemory
from models.packs.pack import Pack
from models.relational.question import TextReader
from models.training.kbert.relations import Relations, RelationText, split_relations
from models.training.kit.fingerprint import DataFiles
from models.training.phrasings import read_phrasings, without
from models.training.relational.compositions import Compositions
from models.training.relational.examples import ExampleMaker
from models.training.relational.inverses import (
    TEST_INVERSES,
    TRAIN_INVERSES,
    inverse_phrasings,
    with_inverses,
)
from models.training.relational.pack import PackQuestions
from models.training.relational.plan import TEST_HANDS, TRAIN_HANDS, Plan
from models.training.relational.wordings import TEST_FRAMES, TRAIN_FRAMES, Wordings

SHARE_OF_SUBJECTS = 0.5  # share of hops that lead to a subject, among questions of the exam


@dataclass(frozen=True)
class Setup:
    """Makers of examples.

    Attributes:
        files: The data files that everything follows from.
        train: Trained relations in trained words.
        tune: Relations that only calibration sees, in trained words.
        test: Trained relations in the words of the third writer.
        new: Relations that no weight was trained on, in the words of the third writer.
        pack: Facts of the pack, of trained relations, in the words of the third writer.
        inverse: Like `test`, for paths that lead to a subject; None if the reader does not walk back.
    """

    files: DataFiles
    train: ExampleMaker
    tune: ExampleMaker
    test: ExampleMaker
    new: ExampleMaker
    pack: PackQuestions
    inverse: ExampleMaker | None = None


def prepare(plan: Plan, folder: Path, reader: TextReader, say: Callable[[str], None]) -> Setup:
    """Split relations and writers; `folder` is the folder of the pack."""
    with DataFiles(folder) as files:
        relations = split_relations(Pack.load(folder), plan.seed, plan.n_tuning)
        trained_phrasings = read_phrasings(TRAIN_HANDS)
        test_phrasings = without(read_phrasings(TEST_HANDS), trained_phrasings)
    say(f"held out: {', '.join(relations.held_out)}; for calibration: {', '.join(relations.tune)}")
    every = {**relations.train, **relations.tune, **relations.held_out}
    walks_back = plan.config.fan_in > 0
    both_ways = with_inverses if walks_back else dict
    trained_turns = inverse_phrasings(every.values(), trained_phrasings, TRAIN_INVERSES)
    test_turns = inverse_phrasings(every.values(), test_phrasings, TEST_INVERSES)
    trained_words = Wordings({**trained_phrasings, **trained_turns}, TRAIN_FRAMES, plan.mixture, True)
    other_words = Wordings({**test_phrasings, **test_turns}, TEST_FRAMES, plan.mixture, False)
    every = both_ways(every)
    near = find_near(reader, every)

    def maker(paths: Mapping[str, RelationText], words: Wordings, inverse: float = 0.0) -> ExampleMaker:
        is_training = words is trained_words and paths is relations.train
        beside = both_ways(relations.train) if is_training else every
        asked_paths = both_ways(paths) if inverse else paths
        compositions = Compositions(asked_paths, plan.held_compositions, plan.seed, inverse)
        return ExampleMaker(compositions, words, plan.mixture, beside, near, plan.config.hops, walks_back)

    inverse = plan.mixture.inverse if walks_back else 0.0

    memory = GraphMemory.of(folder)
    view = memory.view(memory.base)
    return Setup(
        files,
        maker(relations.train, trained_words, inverse),
        maker(relations.tune, trained_words, inverse),
        maker(relations.train, other_words),
        maker(_without_training(relations), other_words),
        PackQuestions(
            view,
            Compositions(relations.train, plan.held_compositions, plan.seed),
            other_words,
            plan.config.fan_out,
            plan.config.max_nodes,
            plan.config.fan_in,
        ),
        maker(relations.train, other_words, SHARE_OF_SUBJECTS) if walks_back else None,
    )


def _without_training(relations: Relations) -> Mapping[str, RelationText]:
    """Return the relations that no weight is trained on, for paths of two of them."""
    return {**relations.held_out, **relations.tune}


@torch.no_grad()
def find_near(reader: TextReader, relations: Mapping[str, RelationText]) -> dict[str, Sequence[str]]:
    """Sort the other relations of each relation by how near their labels are to its label."""
    ids, labels = list(relations), [relation.labels[0] for relation in relations.values()]
    vectors = reader.label_vectors(labels)
    matrix = F.normalize(torch.stack([vectors[label] for label in labels]), dim=-1)
    order = (matrix @ matrix.T).argsort(dim=1, descending=True).tolist()
    return {id: [ids[other] for other in row if ids[other] != id] for id, row in zip(ids, order, strict=True)}
