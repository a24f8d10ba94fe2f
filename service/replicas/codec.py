"""Turns a request across the handle into the system's question, and the system's reply into JSON."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

from models.graph.memory import GRAPH
from models.graph.view import GraphView
from models.kit.replies import fact_json
from models.system import AnswerDelta, Ask, Reply, System
from service.errors import InvalidInput
from service.outcome import Outcome
from service.replicas.snapshot import Snapshot
from service.scheduling.batch_queue import NO_ASKER
from service.scheduling.turns import Asker
from service.scheduling.work import INPUT_OF_FIELD, to_ask


@dataclass(eq=False)
class QueuedQuestion:
    ask: Ask
    # The snapshot that it reads; None reads the newest when its batch begins
    snapshot: Snapshot | None = None
    asker: Asker = NO_ASKER
    work: int = 1  # its work, in short questions
    suspect: str = ""  # id of a question that may have ended a process; "" of any other
    on_delta: Callable[[AnswerDelta], None] | None = None  # receives the deltas of a streamed answer
    steps: Iterator[AnswerDelta | Reply | None] | None = None  # the remaining steps of an answer in steps
    arrived_at: float = field(default_factory=perf_counter)
    graph_s: float = 0.0  # seconds in the graph so far
    model_s: float = 0.0  # seconds in the model so far

    def to_answer(self, reply: Reply, snapshot: Snapshot) -> AnsweredQuestion:
        """Return the answered question; the time that neither graph nor model took is the queue's."""
        queue_s = max(0.0, perf_counter() - self.arrived_at - self.graph_s - self.model_s)
        seconds = {"queue": queue_s, "graph": self.graph_s, "model": self.model_s}
        return AnsweredQuestion(reply, snapshot, seconds, self.ask.passages, self.ask.as_of)


@dataclass(frozen=True)
class AnsweredQuestion:
    reply: Reply
    snapshot: Snapshot
    seconds: Mapping[str, float]  # the seconds of its parts: queue, graph and model, in this order
    passages: Sequence[int] = (0,)  # places of the texts of its context
    as_of: str = ""  # the day on which the facts are current

    @property
    def total_s(self) -> float:
        return sum(self.seconds.values())


def read_ask(request: Mapping[str, Any], system: System) -> Ask:
    """Return the system's question for a request.

    Raises:
        InvalidInput: The system does not read one of its fields; a silent drop would be a wrong answer.
    """
    for field_name, needed_input in INPUT_OF_FIELD.items():
        if request.get(field_name) is not None and needed_input not in system.inputs:
            detail = f"the model {system.name!r} does not read `{field_name}`: leave it out"
            raise InvalidInput(detail, field=field_name)
    return to_ask(request)


def delta_to_wire(delta: AnswerDelta) -> bytes:
    return json.dumps({"text": delta.text, "progress": delta.progress}).encode()


def to_wire(item: AnsweredQuestion, model: str, replica: str, degraded: str | None) -> bytes:
    reply = item.reply
    return json.dumps(
        {
            "answer": reply.answer,
            "reason": reply.reason,
            "reason_text": None if reply.reason is None else reply.reason.sentence,
            "score": reply.score,
            "best": reply.best,
            "alternatives": [{"answer": a.answer, "score": a.score} for a in reply.alternatives],
            "model": model,
            "version": item.snapshot.version,
            "as_of": item.as_of,
            "edits": reply.edits,
            "edited_in": item.snapshot.find_version(reply.edits),
            "facts": reply.facts,
            "place": None if reply.place is None else _find_passage(*reply.place, item.passages),
            "timings": {
                f"{part}_ms": round(1e3 * seconds, 3)
                for part, seconds in {**item.seconds, "total": item.total_s}.items()
            },
            "nearby_edit": None if reply.nearby_edit is None else asdict(reply.nearby_edit),
            "truncated": reply.truncated,
            "degraded": degraded,
            "replica": replica,
            "explanation": reply.explanation,
            **({} if reply.finish is None else _describe_draw(reply)),
        }
    ).encode()


def facts_to_wire(question: QueuedQuestion) -> Outcome:
    """Return the facts that edits say of the names in a question, as the wire's `AnswerFact`s; no fact of an import."""
    if question.snapshot is None:
        raise InvalidInput("this model reads no graph, which has the facts")
    view: GraphView = question.snapshot.views[GRAPH]
    entities = {entity.id: entity for mention in question.ask.mentions for entity in mention.entities}
    edits = {id: {source.edit for _, source in view.edits.get(id, ())} for id in entities}
    facts = [
        fact_json(id, entity.label, fact)
        for id, entity in entities.items()
        for fact in entity.facts
        if fact.edit in edits[id]
    ]
    return Outcome(200, json.dumps(facts).encode(), version=question.snapshot.version)


def _find_passage(start: int, end: int, passages: Sequence[int]) -> dict[str, int]:
    """Return the text of a context in which an answer begins, and its place there."""
    number = bisect_right(passages, start) - 1
    first = passages[number]
    return {"passage": number, "start": start - first, "end": end - first}


def _describe_draw(reply: Reply) -> dict[str, Any]:
    tokens = [
        {
            "text": token.text,
            "logprob": token.logprob,
            "top": [{"text": text, "logprob": logprob} for text, logprob in token.top],
        }
        for token in reply.tokens
    ]
    return {"finish": reply.finish, "tokens": tokens or None}
