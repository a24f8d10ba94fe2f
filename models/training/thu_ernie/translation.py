"""TransE on the facts of a pack: a row for each entity, each literal value and each relation, so that s + r is near o.

Bordes et al., Translating Embeddings (NeurIPS 2013), the vectors that Zhang et al. (arXiv:1905.07129, section 4.1) put
into their table. Rows lie on a sphere, so the squared distance |s + r - o|^2 ranks objects as the dot product (s + r) .
o does, which is what the alignment head computes. The loss is a softmax over all rows, of heads and of tails, for a
pack is small enough to need no negative samples.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from more_itertools import map_reduce
from torch import Tensor, nn

from models.graph.statement import RELATION
from models.packs.pack import Fact, Pack
from models.thu_ernie.entities.table import row_name
from models.training.kit.plan import Plan

Ends = Mapping[tuple[int, int], list[int]]  # (start, relation) -> ends of facts


@dataclass(frozen=True)
class Triples:
    """The facts of a pack as numbers."""

    names: tuple[str, ...]  # names of the rows: entities, literal values, relations
    n_nodes: int  # number of the rows that are no relation
    numbers: Int[Tensor, "fact 3"]  # subject, relation and object of each fact, as places in `names`

    @staticmethod
    def of(pack: Pack) -> "Triples":
        """Number the facts of a pack."""
        nodes = [*pack.entities, *(object_name(fact) for fact in pack.facts)]
        relations = [RELATION + id for id in pack.relations]
        names = list(dict.fromkeys([*nodes, *relations]))
        places = {name: place for place, name in enumerate(names)}
        numbers = [
            (places[fact.subject_id], places[RELATION + fact.relation_id], places[object_name(fact)])
            for fact in pack.facts
        ]
        return Triples(tuple(names), len(names) - len(relations), torch.tensor(numbers))


def object_name(fact: Fact) -> str:
    """Return the name of the row of a fact's object."""
    return row_name(fact.object, fact.object_id or "")


def train_rows(triples: Triples, plan: Plan, size: int, seed: int) -> Float[Tensor, "row size"]:
    """Train rows that the plan scales; deterministic for a seed and a processor.

    Each fact is distinguished from all objects of the pack, and from the subjects of the other facts of its batch.
    Nodes lie on the unit sphere while they are trained, relations anywhere.
    """
    torch.manual_seed(seed)
    n_relations, size = len(triples.names) - triples.n_nodes, size - 1
    nodes = nn.Parameter(F.normalize(torch.randn(triples.n_nodes, size), dim=-1))
    relations = nn.Parameter(torch.randn(n_relations, size) / size**0.5)
    optimizer = torch.optim.Adam([nodes, relations], plan.lr)
    steps = plan.epochs * -(-len(triples.numbers) // plan.batch)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, plan.last_share, max(1, steps))
    objects, back = torch.unique(triples.numbers[:, 2]), triples.numbers.flip(1)
    ends, starts = _ends_of(triples.numbers), _ends_of(back)
    for _ in range(plan.epochs):
        for part in torch.split(torch.randperm(len(triples.numbers)), plan.batch):
            rows = torch.cat([F.normalize(nodes, dim=-1), relations])
            subjects = torch.unique(back[part, 2])
            loss = _loss(rows, ends, triples.numbers[part], objects, 1.0, plan.sharpness)
            loss = loss + plan.head_weight * _loss(rows, starts, back[part], subjects, -1.0, plan.sharpness)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    rows = torch.cat([F.normalize(nodes, dim=-1), relations]).detach() * plan.norm
    threshold = torch.full((len(rows), 1), plan.threshold)
    threshold[triples.n_nodes :] = 0
    return torch.cat([threshold, rows], 1)


def _ends_of(facts: Int[Tensor, "fact 3"]) -> Ends:
    return map_reduce(facts.tolist(), lambda fact: (fact[0], fact[1]), itemgetter(2))


def _loss(
    rows: Float[Tensor, "row size"],
    all_ends: Ends,
    batch: Int[Tensor, "part 3"],
    candidates: Int[Tensor, " candidate"],
    sign: float,
    sharpness: float,
) -> Float[Tensor, ""]:
    """Return the cross-entropy of the ends of facts among candidates; other right ends do not count as wrong.

    Args:
        candidates: Rows that an end is distinguished from, in ascending order.
        sign: 1 if a relation leads from start to end, -1 if it leads back.
        sharpness: Factor of the dot products of unit rows.
    """
    starts, relations, ends = (column.contiguous() for column in batch.unbind(1))
    logits = sharpness * (rows[starts] + sign * rows[relations]) @ rows[candidates].T
    columns = {candidate: column for column, candidate in enumerate(candidates.tolist())}
    other_ends = [
        (number, columns[other])
        for number, (start, relation, end) in enumerate(batch.tolist())
        for other in all_ends[start, relation]
        if other != end and other in columns
    ]
    is_right = torch.zeros_like(logits, dtype=torch.bool)
    if other_ends:
        is_right[tuple(torch.tensor(other_ends).T)] = True
    return F.cross_entropy(logits.masked_fill(is_right, float("-inf")), torch.searchsorted(candidates, ends))
