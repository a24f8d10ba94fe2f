"""One replica: a model, the newest snapshot of its memories, and a queue that gathers questions into batches.

A question's route: its pinned version becomes a snapshot; it waits in the queue, is answered in a batch, and leaves as
JSON.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

from models.capabilities import AnswersInSteps, Costs, ReadsNeighbours, Streams
from models.cost import default_cost
from models.memory import TakesFields, Views
from models.system import AnswerDelta, Ask, Reply
from service import tracing
from service.calls.frames import FOLDER_VARIABLE, locate
from service.calls.listener import Listener
from service.concurrency import cancel_and_wait
from service.config import Settings
from service.errors import (
    ErrataError,
    Internal,
    LedgerCorrupt,
    LedgerUnavailable,
    NotFound,
    NotReady,
    VersionAhead,
)
from service.graph.lookup import find_informer
from service.ledger.layout_version import check_layout
from service.ledger.poison_requests import PoisonRequests
from service.ledger.startup import wait_for_ledger
from service.ledger.store import RedisLedger
from service.loading import load_system
from service.metrics import metrics
from service.outcome import Outcome
from service.replicas.backlog import Backlog
from service.replicas.codec import (
    AnsweredQuestion,
    QueuedQuestion,
    delta_to_wire,
    facts_to_wire,
    read_ask,
    to_wire,
)
from service.replicas.follower import LedgerFollower
from service.replicas.heartbeat import Heartbeat
from service.replicas.snapshot import Snapshot, SnapshotHistory, SnapshotLoader
from service.scheduling.batch_queue import NO_ASKER, REQUEUE, BatchQueue, Requeue

log = logging.getLogger(__name__)

PARTS = ("queue", "graph", "model", "total")  # parts of an answer's time; the graph's is 0 without a graph
CATCH_UP_S = 60.0  # time limit after registering to reach the versions that were committed meanwhile
STEP_S = 0.02  # time of a long question before others have their turn
REST = 3.0  # factor of the time that a long question took, for which its caller lets others go first


class Replica:
    """A replica. Its constructor waits for the ledger and returns when it has caught up, before any traffic."""

    async def __init__(self, settings: Settings, model: str) -> None:  # type: ignore[misc]  # Ray awaits it
        assert settings.redis_url, "the launcher names the ledger's Redis"
        metrics.count_start(model)
        self.id = f"{model}-{uuid4().hex[:8]}"
        self._settings, self._model = settings, model
        self._ledger = RedisLedger.connect(settings.redis_url, settings.redis_timeout_s)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix=f"{model}-forward")
        self._tasks: list[asyncio.Task[None]] = []
        self.__del__ = self.aclose  # Ray awaits it; Python, which looks at the class, does not see it
        self._bundle = await asyncio.get_running_loop().run_in_executor(
            self._worker, load_system, settings, model
        )
        self._system = self._bundle.system
        self._cost = self._system.cost if isinstance(self._system, Costs) else default_cost
        self._informer = find_informer([self._system], self._ledger.connection)
        memories = [memory for memory in self._bundle.memories if memory.name in self._system.memories]
        self._loader = SnapshotLoader(self._ledger, memories, self._informer)
        self._history = SnapshotHistory(self._loader, settings.history)
        length = metrics.QUEUE.labels(model, "replica")
        count = metrics.CRASHING.labels(model).inc
        self._suspects = PoisonRequests(self._ledger.connection, model, "ask it in other words", count)
        self._informing = BatchQueue(self._inform, settings.max_batch, defer=True)
        self._queue = BatchQueue(
            self._answer_batch, settings.max_batch, defer=True, on_length=length.set, rest=REST
        )
        await wait_for_ledger(lambda: check_layout(self._ledger.connection), self.id)

        async def load_newest() -> Snapshot:
            return await self._loader.at(await self._ledger.head())

        first = await wait_for_ledger(load_newest, self.id)
        self._follower = LedgerFollower(self._ledger, self._loader, first, self._on_swap)
        self._heartbeat = Heartbeat(self._ledger, self.id, self._status, self._on_head)
        self._backlog = Backlog()
        self._history.add(first)
        self._tasks += [asyncio.create_task(self._follower.run()), asyncio.create_task(self._heartbeat.run())]
        if (informer := self._informer) is not None:
            watching = informer.watch_damage(lambda: self._follower.newest.views[informer.memory])
            self._tasks.append(asyncio.create_task(watching))
        _create_series(model, self._informer is not None)
        await wait_for_ledger(self._heartbeat.send, self.id)
        await wait_for_ledger(self._catch_up, self.id)
        self._listener = await self._listen()
        self.__del__ = self._end
        metrics.set_ready(model, settings.metrics_port)

    async def _listen(self) -> Listener | None:
        """Listen for the ingress of this machine, if the launcher has made a folder for that."""
        if not (folder := os.environ.get(FOLDER_VARIABLE)):
            return None
        listener = Listener(locate(Path(folder), self._model, uuid4().hex[:8]), self.answer_many)
        await listener.start()
        return listener

    async def _catch_up(self) -> None:
        """Reach the versions that were committed before the replica was listed; later commits wait for it."""
        head = await self._ledger.head()
        if not await self._follower.reach(head, CATCH_UP_S):
            raise NotReady(f"{self.id} did not reach version {head} within {CATCH_UP_S:g} s")

    def _on_swap(self, snapshot: Snapshot, seconds: float) -> None:
        self._history.add(snapshot)
        self._heartbeat.applied_ms = 1e3 * seconds
        self._heartbeat.send_soon()
        metrics.PROPAGATION.labels(self._model).observe(max(0.0, seconds))

    def _on_head(self, head: int) -> None:
        self._follower.head = head
        version = self._follower.newest.version
        metrics.set_replica_version(self._model, version, head, self._backlog.measure(version, head))

    def _status(self) -> dict[str, Any]:
        """Return the fields of ReplicaState, without the time of its last heartbeat."""
        newest, degraded = self._follower.newest, self._degraded()
        return {
            "replica": self.id,
            "model": self._model,
            "version": newest.version,
            "checksums": newest.checksums,
            "lag": max(0, self._follower.head - newest.version),
            "healthy": degraded is None,
            "degraded": degraded,
            "host": socket.gethostname(),  # a pod's is its name
            "pid": os.getpid(),
        }

    def _degraded(self) -> str | None:
        """Return the code of a problem, if there is one: the ledger or a part of a memory is away or damaged."""
        if self._follower.degraded is None and self._informer is not None:
            damage = self._informer.find_damage(self._follower.newest.views[self._informer.memory])
            return LedgerCorrupt.code if damage else None
        return self._follower.degraded

    async def answer(self, request: Mapping[str, Any]) -> Outcome:
        with tracing.continue_trace(request.get("trace", {}), f"answer {self._model}"):
            try:
                question = await self._to_question(request)
                if request.get("only") == "facts":
                    return facts_to_wire(question)
                return self._complete(await self._queue.submit(question, question.asker, question.work))
            except ErrataError as error:
                return Outcome.of(error, None)

    async def stream(self, request: Mapping[str, Any]) -> AsyncIterator[bytes | Outcome]:
        """Answer one question: yield its deltas as JSON if the system has any, and at last the outcome."""
        if not isinstance(self._system, Streams):
            yield await self.answer(request)
            return
        with tracing.continue_trace(request.get("trace", {}), f"answer {self._model}"):
            try:
                async for item in self._stream(await self._to_question(request)):
                    yield item
            except ErrataError as error:
                yield Outcome.of(error, None)

    async def _stream(self, question: QueuedQuestion) -> AsyncIterator[bytes | Outcome]:
        """Yield the deltas of an answer from one snapshot; each step waits for its turn in the queue."""
        deltas: asyncio.Queue[AnswerDelta | None] = asyncio.Queue()
        question.on_delta = deltas.put_nowait
        answer = asyncio.create_task(self._queue.submit(question, question.asker, self._settings.max_batch))
        answer.add_done_callback(lambda _: deltas.put_nowait(None))
        try:
            while (delta := await deltas.get()) is not None:
                yield delta_to_wire(delta)
            yield self._complete(await answer)
        finally:
            answer.cancel()

    async def _to_question(self, request: Mapping[str, Any]) -> QueuedQuestion:
        """Return a question with the snapshot that it pins, and with a memory's facts about its words."""
        question = QueuedQuestion(
            read_ask(request, self._system),
            asker=request.get("asker", NO_ASKER),
            suspect=request.get("suspect", ""),
        )
        question.snapshot = await self._find_snapshot(request)
        if self._informer is not None:
            question.ask = await self._informing.submit(question, question.asker)
        question.work = self._cost(question.ask)
        if question.suspect:  # then it fills a batch
            question.work = max(question.work, self._settings.max_batch)
        return question

    def _complete(self, answer: AnsweredQuestion) -> Outcome:
        seconds = {**answer.seconds, "total": answer.total_s}
        for part in PARTS:
            metrics.ANSWER_PARTS.labels(self._model, part).observe(seconds[part])
        tracing.record_spans(answer.seconds)
        body = to_wire(answer, self._model, self.id, self._degraded())
        reply = answer.reply
        near = reply.nearby_edit
        is_near = near is not None and near.probability >= self._settings.scope_near
        is_declined = reply.answer is None
        edits = () if is_declined else tuple(reply.edits)
        return Outcome(200, body, {}, is_declined, is_near, reply.wording, edits, answer.snapshot.version)

    async def answer_many(self, requests: Sequence[Mapping[str, Any]]) -> list[Outcome]:
        """Return the outcomes in order, once all questions are answered; the ingress sends long ones separately."""
        return list(await asyncio.gather(*map(self.answer, requests)))

    async def state(self) -> dict[str, Any]:
        return {**self._status(), "applied_ms": self._heartbeat.applied_ms, "seen_s_ago": 0.0}

    async def describe(self) -> dict[str, Any]:
        memories = [memory for memory in self._bundle.memories if memory.name in self._system.memories]
        cards = [
            {
                "name": memory.name,
                "base": memory.base.base,
                "accepts": sorted(memory.accepts),
                "options": memory.options.model_json_schema().get("properties", {}),
                "changes": {
                    kind: fields.model_json_schema().get("properties", {})
                    for kind, fields in (memory.fields if isinstance(memory, TakesFields) else {}).items()
                },
            }
            for memory in memories
        ]
        methods = [m for memory in memories for m in memory.options.methods() or sorted(memory.accepts)]
        return {
            "memories": cards,
            "methods": methods,
            "inputs": sorted(self._system.inputs),
            "details": dict(self._system.describe()),
        }

    async def check_health(self) -> None:
        """Raise if Ray has to restart the replica; a missing ledger is no reason for that."""
        for task in self._tasks:
            if task.done():
                raise RuntimeError(f"{self.id}: a background task ended: {task.exception()!r}")

    async def aclose(self) -> None:
        """Stop following, and leave the list of replicas. Safe at any time, also before the start is complete."""
        await cancel_and_wait(self._tasks)
        with suppress(LedgerUnavailable):
            await self._ledger.forget(self.id)
        await self._ledger.aclose()
        self._worker.shutdown(wait=False)

    async def _end(self) -> None:
        """Count the end of a replica that was ready, and close it; one whose start failed is not counted."""
        metrics.count_end(self._model)
        if self._listener is not None:
            await self._listener.aclose()
        await self.aclose()

    async def _find_snapshot(self, request: Mapping[str, Any]) -> Snapshot | None:
        """Return the snapshot that a request pins or bounds, None for the newest; wait for a pin on its way."""
        version, min_version = request.get("version"), request.get("min_version")
        if version is not None and version > self._follower.head:
            with suppress(LedgerUnavailable):
                await self._refuse_future(version)
        if not await self._follower.reach(max(version or 0, min_version or 0), self._settings.version_wait_s):
            await self._refuse_future(version or 0)
            newest = self._follower.newest.version
            detail = (
                f"this replica has version {newest}, not {version or min_version} yet: ask again in a moment"
            )
            raise VersionAhead(detail, version=newest)
        newest_snapshot = self._follower.newest
        if version is None and (max_version := request.get("max_version")) is not None:
            version = min(max_version, newest_snapshot.version)
        if version is None:
            return None
        return newest_snapshot if version == newest_snapshot.version else await self._history.at(version)

    async def _refuse_future(self, version: int) -> None:
        """Check that a version exists, so that no request waits for one that does not."""
        head = await self._ledger.head()
        if version > head:
            detail = f"there is no version {version}: the newest is {head}"
            raise NotFound(detail, version=version, head=head)

    def _pin(self, questions: Sequence[QueuedQuestion]) -> list[Snapshot]:
        """Return the snapshot that each question reads from now on: its own, or else the newest."""
        newest = self._follower.newest
        snapshots = [question.snapshot or newest for question in questions]
        for question, snapshot in zip(questions, snapshots, strict=True):
            question.snapshot = snapshot
        return snapshots

    async def _inform(self, questions: Sequence[QueuedQuestion]) -> Sequence[Ask | ErrataError]:
        """Return questions with the memory's facts about their words, or the error of a question."""
        assert self._informer is not None
        start = perf_counter()
        views = [snapshot.views[self._informer.memory] for snapshot in self._pin(questions)]
        reach = self._system.reach if isinstance(self._system, ReadsNeighbours) else None
        batch = await self._informer.retrieve_facts([question.ask for question in questions], views, reach)
        cache = batch.hits, batch.misses
        metrics.observe_graph(self._model, batch.link_s, batch.read_s, cache, batch.facts)
        for question in questions:
            question.graph_s = perf_counter() - start
        return batch.asks

    async def _answer_batch(
        self, questions: Sequence[QueuedQuestion]
    ) -> list[AnsweredQuestion | Exception | Requeue]:
        """Answer in one forward pass, each question on its snapshot, or take one step of a long question."""
        start, snapshots = perf_counter(), self._pin(questions)
        asks, loop = [question.ask for question in questions], asyncio.get_running_loop()
        work: Callable[[], Sequence[Reply | AnswerDelta | ErrataError | None]]
        if len(questions) == 1 and self._begin_steps(questions[0], snapshots[0].views):
            work = partial(take_step, questions[0])
        else:
            metrics.BATCH.labels(self._model).observe(len(questions))
            work = partial(self._reply, asks, snapshots)
        suspect = questions[0].suspect  # is alone in its batch
        replies = await loop.run_in_executor(self._worker, self._suspects.run, loop, suspect, work)
        results: list[AnsweredQuestion | Exception | Requeue] = []
        for question, snapshot, reply in zip(questions, snapshots, replies, strict=True):
            question.model_s += perf_counter() - start
            if isinstance(reply, Reply):
                results.append(question.to_answer(reply, snapshot))
            elif isinstance(reply, ErrataError):
                results.append(reply)
            else:
                if reply is not None and question.on_delta is not None:
                    question.on_delta(reply)
                results.append(REQUEUE)
        return results

    def _begin_steps(self, question: QueuedQuestion, views: Views) -> bool:
        """Return whether the question is answered in steps, which begin here."""
        if question.steps is None:
            if question.on_delta is not None and isinstance(self._system, Streams):
                question.steps = self._system.stream(question.ask, views)
            elif question.work > self._settings.max_batch and isinstance(self._system, AnswersInSteps):
                question.steps = self._system.answer_in_steps(question.ask, views)
        return question.steps is not None

    def _reply(self, asks: Sequence[Ask], snapshots: Sequence[Snapshot]) -> Sequence[Reply | ErrataError]:
        """Ask a batch. If it fails, ask its questions one by one, so that only the question at fault gets the error."""
        try:
            return self._system.answer(asks, [snapshot.views for snapshot in snapshots])
        except Exception as error:
            log.exception("a batch of %d failed", len(asks))
            if len(asks) == 1:
                return [_model_failure(error)]
            single = [self._reply([ask], [snapshot]) for ask, snapshot in zip(asks, snapshots, strict=True)]
            return [reply for replies in single for reply in replies]


def take_step(question: QueuedQuestion) -> list[AnswerDelta | Reply | ErrataError | None]:
    """Continue an answer until it yields a delta or a reply, or until others have their turn."""
    assert question.steps is not None
    end = perf_counter() + STEP_S
    try:
        while (item := next(question.steps)) is None and perf_counter() < end:
            pass
    except Exception as error:
        log.exception("a question failed between two steps")
        return [_model_failure(error)]
    return [item]


def _model_failure(error: Exception) -> Internal:
    return Internal(f"the model failed on this question ({type(error).__name__}): see the log")


def _create_series(model: str, reads_graph: bool) -> None:
    metrics.begin_at_zero(metrics.ANSWER_PARTS, [model], PARTS)
    metrics.begin_at_zero(metrics.BATCH, [model])
    metrics.begin_at_zero(metrics.QUEUE, [model], ["replica"])
    metrics.begin_at_zero(metrics.PROPAGATION, [model])
    metrics.begin_at_zero(metrics.REDIS_FAILURES, ["replica"])
    if reads_graph:
        metrics.begin_at_zero(metrics.FACTS, [model])
        metrics.begin_at_zero(metrics.GRAPH_PARTS, [model], ("link", "read"))
