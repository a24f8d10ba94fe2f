"""Questions drawn over all relations, on which the side effects of an edit are measured."""

from collections import defaultdict
from collections.abc import Iterable

from models.packs.pack import Item, Probe
from models.training.packs.chance import rank

PROBES = 200


def probes(items: Iterable[Item], count: int = PROBES) -> list[Probe]:
    """Round robin over the relations; the phrasing is drawn among those trained on."""
    by_relation: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_relation[item.relation.id].append(item)
    for relation, found in by_relation.items():
        found.sort(key=lambda item: rank("probe", relation, item.subject.id))
    rounds = [
        (place, rank("probe", relation), found[place])
        for relation, found in by_relation.items()
        for place in range(min(len(found), count))
    ]
    drawn = [item for _, _, item in sorted(rounds, key=lambda entry: entry[:2])[:count]]
    return [_probe(item) for item in sorted(drawn, key=lambda item: (item.relation.id, item.subject.id))]


def _probe(item: Item) -> Probe:
    phrasing = int(rank("phrasing", item.relation.id, item.subject.id), 16) % len(item.relation.phrasings)
    question = item.relation.question(item.subject.label, phrasing)
    return Probe(question, item.relation.id, item.answer, item.subject.id)
