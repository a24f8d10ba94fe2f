"""The inputs of every phase: relations, world, maps of the rank, tokens.

They follow from the seed in half a minute.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from models.encoder.minilm import WIDTH, MiniLM
from models.encoder.weights import find
from models.kbert.query import Relevance, label_question
from models.kbert.text import Tokens, WordPieces
from models.packs.pack import Pack
from models.training.kbert.plan import Plan
from models.training.kbert.ranks import Ranks, deal_folds, load_or_learn_maps, mask_phrasings
from models.training.kbert.relations import Relations, RelationText, split_relations
from models.training.kbert.world import World, build_world
from models.training.kit.fingerprint import DataFiles
from models.training.phrasings import CHOOSE_HANDS, TEST_HANDS, reword


@dataclass(frozen=True)
class Setup:
    """Inputs of every phase.

    Attributes:
        files: The data files that everything follows from.
        pack: The pack, with held phrasings by the writers on whom choices are made.
        test_pack: The same pack, with held phrasings by the writers who are tested on.
        relations: Relations for weights, thresholds and the last measurement.
        world: Entities and objects that examples are made of.
        bend: The final map of the rank.
        ranks: Ranks of facts.
        tokens: Word pieces.
    """

    files: DataFiles
    pack: Pack
    test_pack: Pack
    relations: Relations
    world: World
    bend: Tensor
    ranks: Ranks
    tokens: Tokens


def prepare(plan: Plan, folder: Path, work: Path, say: Callable[[str], None]) -> Setup:
    """Prepare all inputs from the pack in `folder`, with maps kept in `work`."""
    work.mkdir(parents=True, exist_ok=True)
    with DataFiles(folder) as files:
        plain = Pack.load(folder)
        pack, test_pack = reword(plain, CHOOSE_HANDS), reword(plain, TEST_HANDS)
        relations = split_relations(pack, plan.seed, plan.n_tuning)
    say(f"held out: {', '.join(relations.held_out)}; for tuning: {', '.join(relations.tune)}")
    relevance = Relevance(MiniLM(), torch.zeros(WIDTH, WIDTH))
    train = list(relations.train.values())
    folds = deal_folds(train, plan.bend.folds, plan.seed)
    mark = files.fingerprint(asdict(plan))
    maps = load_or_learn_maps(relevance, train, folds, plan, work, mark, say)
    near = find_near(relevance, relations.train)
    world = build_world(pack, relations, plan.entities, plan.seed, near)
    tokens = WordPieces(find().tokenizer())
    return Setup(files, pack, test_pack, relations, world, maps[0], Ranks(relevance, maps, folds), tokens)


@torch.no_grad()
def find_near(relevance: Relevance, relations: Mapping[str, RelationText]) -> dict[str, Sequence[str]]:
    """Sort the other relations of each relation by how near their labels are to its questions."""
    ids, texts = list(relations), list(relations.values())
    means = [relevance.plain(mask_phrasings(text)).mean(0) for text in texts]
    questions = torch.stack([F.normalize(mean, dim=0) for mean in means])
    labels = relevance.plain([label_question(text.labels[0]) for text in texts])
    order = (questions @ labels.T).argsort(dim=1, descending=True).tolist()
    return {id: [ids[other] for other in row if ids[other] != id] for id, row in zip(ids, order, strict=True)}
