"""What every phase needs: relations, world, maps of the rank, tokens. Computed anew in half a minute, from the seed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from models.encoder.minilm import MiniLM
from models.encoder.weights import find
from models.kbert.relevance import Relevance, spoken
from models.kbert.tokens import Recalled, Tokens, WordPieces
from models.packs.pack import Pack
from models.training.kbert.bend import folds, questions
from models.training.kbert.fingerprint import fingerprint
from models.training.kbert.maps import learned
from models.training.kbert.plan import Plan
from models.training.kbert.ranks import Ranks
from models.training.kbert.relations import Known, Relations, relations
from models.training.kbert.world import World, world


@dataclass(frozen=True)
class Prepared:
    """bend: the final map of the rank."""

    fingerprint: str
    pack: Pack
    relations: Relations
    world: World
    bend: Tensor
    ranks: Ranks
    tokens: Tokens


def prepare(plan: Plan, folder: Path, work: Path, say: Callable[[str], None]) -> Prepared:
    """folder: of the pack. work: where the maps are kept."""
    work.mkdir(parents=True, exist_ok=True)
    pack = Pack.load(folder)
    split = relations(pack, plan.seed, plan.tuned)
    say(f"held out: {', '.join(split.unseen)}; for tuning: {', '.join(split.tune)}")
    relevance = Relevance(MiniLM())
    train = list(split.train.values())
    dealt = folds(train, plan.bend.folds, plan.seed)
    mark = fingerprint(plan, folder)
    maps = learned(relevance, train, dealt, plan, work, mark, say)
    around = world(pack, split, plan.entities, plan.seed, near(relevance, split.train))
    files = find()
    tokens = Recalled(WordPieces(Tokenizer.from_file(str(files.tokenizer))))
    return Prepared(mark, pack, split, around, maps[0], Ranks(relevance, maps, dealt), tokens)


@torch.no_grad()
def near(relevance: Relevance, known: Mapping[str, Known]) -> dict[str, Sequence[str]]:
    """For each relation the others, those first whose labels its questions come closest to."""
    ids = list(known)
    asked = torch.stack(
        [F.normalize(relevance.plain(questions(one)).mean(0), dim=0) for one in known.values()]
    )
    named = relevance.plain([spoken(one.labels[0]) for one in known.values()])
    order = (asked @ named.T).argsort(dim=1, descending=True).tolist()
    return {id: [ids[other] for other in row if ids[other] != id] for id, row in zip(ids, order, strict=True)}
