"""The effects of an import on the graph as people edited it, found before it is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from errata.wire import ImportedTriple, Outcome
from more_itertools import chunked, map_reduce

from models.graph.view import GraphView
from models.scope.spelling import resembling
from service.editing.draft import EditorState, one_line
from service.editing.evaluation.lineage import version_of
from service.errors import JSON, MAX_NAMED, BreaksTests, SimilarName
from service.graph.formats.ntriples import words_of
from service.graph.formats.units import UNITS
from service.graph.imports.comparison import Comparison, compare
from service.graph.imports.row_resolver import RowResolver
from service.graph.linking.folding import name_key, without_accents
from service.graph.lookup import Lookup
from service.ledger import fold as ledger

ENTITIES_PER_READ = 10_000
MAX_LISTED = 200  # triples of an import that its note has, half a kilobyte each in memory
MAX_NEW_NAMES = 2_000  # new names that are compared with others, a millisecond each
BY_HAND = "line {}: {} · {} is {} by version {} of {}, and {} here"
REPEAT = "nothing was imported; repeat it with `keep_corrections` or without strict"


@dataclass(frozen=True)
class ImportConflicts:
    rows: Sequence[ImportedTriple] = ()  # the first triples, and those with an effect
    n_replaced: int = 0
    n_by_hand: int = 0
    n_new: int = 0  # number of triples that the graph does not say
    # New names of the file -> names one letter away
    similar_names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # Triples that are left out for the sake of people's edits, by subject, relation, and object's text or id
    left_out: frozenset[tuple[str, str, str]] = frozenset()

    def warnings(self) -> list[str]:
        names = [
            f"{name!r} is new, and {one_line(similar)} is one letter away: if it is misspelt, take the import back"
            for name, similar in self.similar_names.items()
        ]
        if not self.n_replaced and not self.n_by_hand:
            return names
        respect = "kept edits by people" if self.left_out else "triples against edits by people"
        return [f"replaced values: {self.n_replaced:,}; {respect}: {self.n_by_hand:,}", *names]

    def check(self) -> None:
        """Check that the import neither goes against people's edits nor misspells a name."""
        failing = [triple for triple in self.rows if triple.by_hand and not triple.is_left_out]
        if failing:
            first = failing[0]
            values = first.subject, first.relation, first.before or "taken away", first.version, first.author
            suffix = f" (and {self.n_by_hand - 1:,} more)" if self.n_by_hand > 1 else ""
            tests: list[JSON] = [to_test(triple) for triple in failing[:MAX_NAMED]]
            detail = BY_HAND.format(first.line, *values, first.object)
            raise BreaksTests(f"{detail}{suffix}: {REPEAT}", tests=tests)
        for name, similar in self.similar_names.items():
            raise SimilarName(
                f"{name!r} is new, and {one_line(similar)} is one letter away: nothing was imported; "
                "write that name, or repeat it without strict if the new one is right",
                field="body",
                candidates=list(similar),
            )


async def examine(
    resolver: RowResolver, state: EditorState, view: GraphView, lookup: Lookup, keep_corrections: bool
) -> ImportConflicts:
    """Compare a file with the graph.

    Args:
        state: The ledger's edits, for their authors.
        keep_corrections: Whether triples that go against people's edits are left out.
    """
    rows: list[Comparison] = []
    effects: list[Comparison] = []
    names = {id: name for name, id in resolver.ids_by_name.items()}
    left_out: set[tuple[str, str, str]] = set()
    n_new = n_replaced = 0
    by_subject = map_reduce(resolver.facts, lambda fact: fact.subject)
    for subjects in chunked(by_subject, ENTITIES_PER_READ):
        batch = [fact for subject in subjects for fact in by_subject[subject]]
        for item in compare(batch, await lookup.entities(set(subjects), view), view):
            is_left_out = keep_corrections and item.by_hand
            if is_left_out:
                left_out.add(item.fact.key)
            n_new += item.is_new and not is_left_out
            n_replaced += item.replaces and not is_left_out
            (effects if item.replaces or item.by_hand else rows).append(item)
    by_line = sorted(rows, key=lambda item: item.fact.line)[: max(0, MAX_LISTED - len(effects))]
    listed_items = sorted([*effects[:MAX_LISTED], *by_line], key=lambda item: item.fact.line)
    ids = {
        item.fact.unit or item.fact.object_id
        for item in listed_items
        if item.fact.unit or not item.fact.object
    }
    labels = {
        id: resolver.labels.get(id) or label or UNITS.get(id) or words_of(id) or id
        for id, label in (await lookup.labels(ids, view)).items()
    }
    return ImportConflicts(
        [to_wire(item, names, labels, state, view, left_out) for item in listed_items],
        n_replaced,
        sum(item.by_hand for item in effects),
        n_new,
        await find_similar(resolver, view, lookup),
        frozenset(left_out),
    )


def to_wire(
    item: Comparison,
    names: Mapping[str, str],
    labels: Mapping[str, str],
    state: EditorState,
    view: GraphView,
    left_out: Set[tuple[str, str, str]],
) -> ImportedTriple:
    """Describe a triple with the names that the file gives its subject, and labels of objects that it has by id."""
    fact, record = item.fact, state.edits.get(item.edit)
    version = version_of(record) if record else None
    return ImportedTriple(
        line=fact.line,
        subject=names.get(fact.subject, item.label),
        relation=view.label(fact.relation),
        object=" ".join(filter(None, (fact.object or labels[fact.object_id], labels.get(fact.unit)))),
        before=one_line(item.values) if item.replaces or item.by_hand else "",
        by_hand=item.by_hand,
        version=version,
        author=ledger.find(state.commits, version).author if version else "",
        is_left_out=fact.key in left_out,
        source=fact.source,
    )


def to_test(triple: ImportedTriple) -> dict[str, Any]:
    return Outcome(
        version=triple.version or 0,
        question=f"{triple.subject} · {triple.relation}",
        before=triple.before or None,
        after=triple.object,
    ).model_dump(mode="json")


async def find_similar(resolver: RowResolver, view: GraphView, lookup: Lookup) -> dict[str, list[str]]:
    """Return the new names of the file that are one letter away from another name, of the graph or of the file."""
    new_names = {name_key(name): name for name in resolver.new_names[:MAX_NEW_NAMES]}
    of_file = {name_key(name): name for name in resolver.ids_by_name}
    similar, find = dict[str, list[str]](), lookup.linker.find_key
    for key, name in new_names.items():
        near = [other for other in resembling(key) if other in of_file or find(without_accents(other))]
        near += [key] if find(without_accents(key)) else []  # it differs in accents
        bearers = await lookup.entities_by_name(near, view) if near else {}
        names = [entity.label for other in near for entity in bearers[other]]
        names += [
            of_file[other]
            for other in near
            if other != key and other in of_file and of_file[other] not in similar
        ]
        if names:
            similar[name] = list(dict.fromkeys(names))
    return similar
