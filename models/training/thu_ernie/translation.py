"""TransE on the facts of a pack: a row for each entity, each literal value and each relation, so that s + r is near o.

Bordes et al., Translating Embeddings (NeurIPS 2013), the vectors that Zhang et al. (arXiv:1905.07129, section 4.1) put
into their table. Rows lie on a sphere, so the squared distance |s + r - o|^2 ranks objects as the dot product
(s + r) . o does, which is what the alignment head computes. The loss is a softmax over all rows, of heads and of tails,
for a pack is small enough to need no negative samples.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from models.graph.statement import RELATION
from models.packs.pack import Fact, Pack
from models.thu_ernie.entities.files import row_name
from models.training.kit.plan import Plan


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


class Translation(nn.Module):
    """The rows while they are trained: nodes on the unit sphere, relations anywhere."""

    def __init__(self, triples: Triples, size: int) -> None:
        super().__init__()
        n_relations = len(triples.names) - triples.n_nodes
        self.nodes = nn.Parameter(F.normalize(torch.randn(triples.n_nodes, size), dim=-1))
        self.relations = nn.Parameter(torch.randn(n_relations, size) / size**0.5)

    def rows(self) -> Float[Tensor, "row size"]:
        """Return the rows of nodes, then of relations."""
        return torch.cat([F.normalize(self.nodes, dim=-1), self.relations])


def train_rows(triples: Triples, plan: Plan, size: int, seed: int) -> Float[Tensor, "row size"]:
    """Train rows that the plan scales; deterministic for a seed and a processor.

    Each fact is distinguished from all objects of the pack, and from the subjects of the other facts of its batch.
    """
    torch.manual_seed(seed)
    model = Translation(triples, size - 1)
    optimizer = torch.optim.Adam(model.parameters(), plan.lr)
    steps = plan.epochs * -(-len(triples.numbers) // plan.batch)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, plan.last_share, max(1, steps))
    objects = torch.unique(triples.numbers[:, 2])
    for _ in range(plan.epochs):
        for part in torch.split(torch.randperm(len(triples.numbers)), plan.batch):
            numbers = triples.numbers[part]
            rows = model.rows()
            loss = _loss(rows, triples.numbers, numbers, objects, 1.0, plan.sharpness)
            reverse = numbers.flip(1)
            loss = loss + plan.head_weight * _loss(
                rows, triples.numbers.flip(1), reverse, torch.unique(reverse[:, 2]), -1.0, plan.sharpness
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    rows = model.rows().detach() * plan.norm
    threshold = torch.full((len(rows), 1), plan.threshold)
    threshold[triples.n_nodes :] = 0
    return torch.cat([threshold, rows], 1)


def _loss(
    rows: Float[Tensor, "row size"],
    facts: Int[Tensor, "fact 3"],
    batch: Int[Tensor, "part 3"],
    candidates: Int[Tensor, " candidate"],
    sign: float,
    sharpness: float,
) -> Float[Tensor, ""]:
    """Return the cross-entropy of the ends of facts among candidates; other right ends do not count as wrong.

    Args:
        rows: All rows.
        facts: Start, relation and end of all facts.
        batch: Facts whose loss is computed.
        candidates: Rows that an end is distinguished from, in ascending order.
        sign: 1 if a relation leads from start to end, -1 if it leads back.
        sharpness: Factor of the dot products of unit rows.
    """
    starts, relations, ends = (column.contiguous() for column in batch.unbind(1))
    logits = sharpness * (rows[starts] + sign * rows[relations]) @ rows[candidates].T
    targets = torch.searchsorted(candidates, ends)
    is_right = torch.zeros_like(logits, dtype=torch.bool)
    keys = facts[:, 0] * len(rows) + facts[:, 1]
    order = keys.argsort()
    batch_keys = starts * len(rows) + relations
    first, last = (torch.searchsorted(keys[order], batch_keys, right=right) for right in (False, True))
    counts = last - first
    places = torch.arange(len(batch_keys)).repeat_interleave(counts)
    offsets = torch.arange(len(places)) - (counts.cumsum(0) - counts).repeat_interleave(counts)
    right_ends = facts[order[first.repeat_interleave(counts) + offsets], 2]
    columns = torch.searchsorted(candidates, right_ends).clamp(max=len(candidates) - 1)
    is_candidate = candidates[columns] == right_ends
    is_right[places[is_candidate], columns[is_candidate]] = True
    is_right[torch.arange(len(batch_keys)), targets] = False
    return F.cross_entropy(logits.masked_fill(is_right, float("-inf")), targets)
