"""A batch of questions through sub-graph, attention and walks, to answers or reasons for none.

specs/rules.md, section 9: the answer carries its proof, the facts that were walked at each hop with their weights.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch

from models.kit.replies import NO_ENTITY, NO_GRAPH, decline, fact_json, log_odds, reply
from models.relational.checkpoint import Model
from models.relational.network import FORMS
from models.relational.program import RuleProgram
from models.relational.question import MaskedQuestion, mask_mentions
from models.relational.subgraph import Edge, EntityNeighbours, Node, Subgraph, build_subgraph
from models.relational.walk import Field, Labels, Search, Searcher, Walk
from models.system import UNSURE, Ask, Reason, Reply

NO_PATH = Reason("no_path", "No path of facts leads from what the question names to an answer.")
ENTITIES, COUNT, YES_NO = FORMS
NO_RULES = RuleProgram()  # every edge may be walked
HOW_MANY = "how many"  # words of a question that asks to count values that are no numbers


@dataclass(frozen=True)
class Sources:
    """The sources that one question reads."""

    graph: EntityNeighbours  # the graph at the asked version
    rules: RuleProgram = NO_RULES  # rules about the edges that may be walked


@dataclass(frozen=True)
class Reading:
    """A question as it was read."""

    ask: Ask  # the question
    masked: MaskedQuestion  # the question without its names
    rules: RuleProgram  # rules about the edges that may be walked
    field: Field  # where it may walk
    form: str  # what it wants of the nodes at the end: one of FORMS
    form_share: float  # probability of the form
    starts: tuple[float, ...]  # probability that the path begins at each mention
    search: Search  # what became of its walks
    truncated: bool  # whether it was cut

    @property
    def graph(self) -> Subgraph:
        """Return the facts around the entities of the question."""
        return self.field.graph

    @property
    def candidates(self) -> list[Walk]:
        """Return the walks that end at an answer, the best first; of equal ones that with the shorter path."""
        return sorted(self.search.finished, key=lambda walk: -walk.weight * self.starts[walk.mention])

    def broken_share(self, walk: Walk) -> float:
        """Return the weight of all walks from the same start that miss a fact."""
        same_start = (w for w in self.search.broken if (w.mention, w.start) == (walk.mention, walk.start))
        return math.fsum(other.weight for other in same_start)

    def rule_edits(self, nodes: Iterable[int]) -> tuple[str, ...]:
        """Return the edits of rules that forbid an edge at one of these nodes: without them the weights are others."""
        graph, places_of_walk = self.graph, set(nodes)
        places = set(range(len(graph.edges))) - self.field.allowed
        at_nodes = sorted(place for place in places if graph.edges[place].source in places_of_walk)
        reasons = self.rules.why_forbidden(graph, at_nodes)
        edits = (reasons[place].edit for place in at_nodes)
        return tuple(dict.fromkeys(edit for edit in edits if edit))

    def features(self, walk: Walk) -> tuple[float, ...]:
        """Return what the confidence of an answer is made of: log-odds of path, start and form."""
        return tuple(log_odds(s) for s in (walk.weight, self.starts[walk.mention], self.form_share))


class Answerer:
    """Reads and answers. Thread-safe."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @torch.no_grad()
    def read(self, asks: Sequence[Ask], sources: Sequence[Sources]) -> list[Reading | Reason]:
        """Read questions in one pass of the encoder; one without sources gets a Reason."""
        masked = [mask_mentions(ask.question, ask.mentions if ask.use_graph else ()) for ask in asks]
        places = [place for place, question in enumerate(masked) if question.mentions]
        readings = iter(
            self._read([(asks[place], masked[place], sources[place]) for place in places]) if places else ()
        )
        reasons = (NO_ENTITY if ask.use_graph else NO_GRAPH for ask in asks)
        return [
            next(readings) if question.mentions else reason
            for question, reason in zip(masked, reasons, strict=True)
        ]

    def _read(self, questions: Sequence[tuple[Ask, MaskedQuestion, Sources]]) -> Iterator[Reading]:
        network = self.model.network
        texts = self.model.reader.read([masked for _, masked, _ in questions])
        reading = network.read(texts)
        fields = [self._field(masked, sources) for _, masked, sources in questions]
        labels = dict.fromkeys(edge.label for field in fields for edge in field.graph.edges)
        vectors = self.model.reader.label_vectors(labels)
        searches = Searcher(network, reading, fields, Labels.of(vectors, network)).search()
        starts, forms = reading.starts.exp().tolist(), reading.forms.exp().max(-1)
        for row, ((ask, masked, sources), field, search) in enumerate(
            zip(questions, fields, searches, strict=True)
        ):
            form, share = FORMS[int(forms.indices[row])], float(forms.values[row])
            yield Reading(
                ask,
                masked,
                sources.rules,
                field,
                form,
                share,
                tuple(starts[row]),
                search,
                texts.truncated[row],
            )

    def _field(self, masked: MaskedQuestion, sources: Sources) -> Field:
        entities = [entity for mention in masked.mentions for entity in mention.entities]
        graph = sources.rules.extend(build_subgraph(sources.graph, entities, self.model.config))
        starts = tuple(
            (number, graph.starts[entity.id])
            for number, mention in enumerate(masked.mentions)
            for entity in sorted(mention.entities, key=lambda entity: (-entity.degree, entity.id))
            if entity.id in graph.starts
        )
        return Field(graph, sources.rules.allowed(graph), starts)

    def reply(self, reading: Reading | Reason) -> Reply:
        """Answer from a question as it was read."""
        if isinstance(reading, Reason):
            return decline(reading)
        candidates = reading.candidates
        if not candidates:
            edits = reading.rule_edits(node for _, node in reading.field.starts)
            return decline(NO_PATH, edits, truncated=reading.truncated)
        best = candidates[0]
        answer, score = conclude(reading, best), self._score(reading, best)
        is_broken = reading.broken_share(best) > best.weight
        reason = NO_PATH if is_broken else UNSURE if score < self.model.confidence.threshold else None
        path = [edge for edges in proof(reading.graph, best) for edge in edges]
        nodes = {best.start, *(edge.source for edge in path), *best.nodes}
        edits = (*(edge.fact.edit for edge in path), *reading.rule_edits(nodes))
        return reply(
            answer,
            score,
            reason,
            edits,
            self._alternatives(reading, candidates, answer)[: reading.ask.top_k - 1],
            truncated=reading.truncated,
            facts=tuple(edge_json(reading.graph, edge) for edge in path),
        )

    def _score(self, reading: Reading, walk: Walk) -> float:
        return self.model.confidence.score(reading.features(walk))

    def _alternatives(
        self, reading: Reading, candidates: Sequence[Walk], answer: str
    ) -> list[tuple[str, float]]:
        scores: dict[str, float] = {}
        for walk in candidates:
            scores.setdefault(conclude(reading, walk), self._score(reading, walk))
        scores.pop(answer)
        return list(scores.items())


def conclude(reading: Reading, walk: Walk) -> str:
    """Return what the nodes at the end of a path answer: their names, their number, or whether one is named."""
    nodes = [reading.graph.nodes[place] for place in walk.nodes]
    if reading.form == COUNT or _asks_how_many(reading, nodes):
        return str(len(nodes))
    if reading.form == ENTITIES:
        return ", ".join(sorted({node.label for node in nodes}))
    ids = {node.id for node in nodes if node.id}
    other_mentions = [m for number, m in enumerate(reading.masked.mentions) if number != walk.mention]
    is_linked = any(entity.id in ids for mention in other_mentions for entity in mention.entities)
    masked = reading.masked.text.casefold()
    is_named = any(node.label.casefold() in masked for node in nodes if not node.id)
    return "yes" if is_linked or is_named else "no"


def _asks_how_many(reading: Reading, nodes: Sequence[Node]) -> bool:
    """Return whether a list would be an answer to "how many"; "how many people live there" asks for a value itself.

    The form that the reader has learned comes first: this is for the ways to ask for a number that it takes for others.
    """
    is_list = reading.form == ENTITIES and HOW_MANY in reading.ask.question.casefold()
    return is_list and all(node.id or not any(map(str.isdigit, node.label)) for node in nodes)


def proof(graph: Subgraph, walk: Walk) -> list[list[Edge]]:
    """Return the facts of each hop that lead to the end of a walk."""
    hops: list[list[Edge]] = []
    ends = set(walk.nodes)
    for step in reversed(walk.steps):
        edges = [graph.edges[place] for place in step.edges if graph.edges[place].target in ends]
        ends = {edge.source for edge in edges}
        hops.append(edges)
    return hops[::-1]


def edge_json(graph: Subgraph, edge: Edge) -> dict[str, str]:
    """Return a fact as replies name it, from subject to object however it was walked."""
    subject = graph.nodes[edge.subject]
    return fact_json(subject.id, subject.label, edge.fact)
