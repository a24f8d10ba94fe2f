"""The editor's deployment, which serves the admin routes. It has one replica, since there is one writer.

A call returns an Outcome, so no exception crosses the handle. The class is plain; the last line deploys it on
Ray.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from errata.wire import CheckReport

from models.graph.view import GraphView
from service.concurrency import cancel_and_wait
from service.config import Settings
from service.curation.hits import HitCounts
from service.curation.reviews import Reviews
from service.editing import changes
from service.editing.call import HANDLERS, Call
from service.editing.deferred_reports import DeferredReports
from service.editing.draft import EditorState
from service.editing.evaluation.fact_tests import current_status
from service.editing.evaluation.paraphrases import ParaphraseGenerator
from service.editing.evaluation.report import Evaluator
from service.editing.evaluation.side_effects import SideEffectProbe
from service.editing.evaluation.slot_budget import SlotBudget
from service.editing.figures import create_series, publish
from service.editing.models import Models
from service.editing.pipeline import Pipeline
from service.editing.plans.import_ import Importer
from service.editing.queries import documents, entities, history, senses, tables, upkeep, why
from service.editing.queries.upkeep import EditMaintenance
from service.editing.replication import AckPolicy, watch_replicas
from service.editing.state_builder import StateBuilder
from service.errors import ErrataError, Internal
from service.graph.imports.store import ImportStore
from service.graph.lookup import Lookup, find_informer
from service.ledger.poison_requests import SUSPECT, PoisonRequests
from service.ledger.reports import Reports
from service.ledger.startup import check_address
from service.ledger.store import RedisLedger
from service.ledger.tags import Tags
from service.loading import load_system
from service.metrics import metrics
from service.outcome import Outcome
from service.supervision import supervise

log = logging.getLogger(__name__)

MODULES = (
    *(changes, documents, entities, history, senses, tables, upkeep, why),  # their functions run the calls
)
RETRY_S = 2.0  # seconds between two attempts to reach the ledger


class Editor:
    """The editor. It starts even while the ledger is away, and reads it as soon as it is there."""

    last_check: CheckReport | None = None

    async def __init__(self, settings: Settings) -> None:  # type: ignore[misc]  # Ray awaits it
        assert settings.redis_url, "the launcher names the ledger's Redis"
        metrics.count_start("editor")
        thread = ThreadPoolExecutor(1, thread_name_prefix="editor")
        run = asyncio.get_running_loop().run_in_executor
        bundles = {name: await run(thread, load_system, settings, name) for name in settings.systems}
        self.ledger = RedisLedger.connect(settings.redis_url, settings.redis_timeout_s)
        connection = self.ledger.connection
        self.upkeep, self.tags = EditMaintenance(HitCounts(connection), Reviews(connection)), Tags(connection)
        lookup = find_informer((bundle.system for bundle in bundles.values()), connection)
        count = metrics.CRASHING.labels("editor").inc
        poison_requests = PoisonRequests(connection, "editor", "nothing was changed", count)
        self.models = Models(bundles, lookup, thread, settings.model_to_correct, poison_requests)
        self.builder = StateBuilder(self.ledger, self.models)
        self.budget = SlotBudget(settings.bank_slots, settings.auto_grow_bank)
        probes = await asyncio.to_thread(lambda: self.models.probes)
        self.side_effects = SideEffectProbe(self.models, probes)
        paraphrases = {name: ParaphraseGenerator(probe.templates) for name, probe in probes.items()}
        evaluator = Evaluator(self.models, self.side_effects, paraphrases, self.budget)
        self.later = DeferredReports(evaluator, Reports(connection))
        self.pipeline = Pipeline(
            self.ledger,
            partial(check_address, settings.redis_url),
            self.builder,
            self.later,
            self.upkeep.reviews,
            self.models.priority,
            settings.snapshot_every,
        )
        self.patience = AckPolicy(settings.ack_timeout_s, dict.fromkeys(bundles, settings.min_replicas))
        self.check_lock = asyncio.Lock()
        self.importer = Importer(self.pipeline, self.models, ImportStore(connection), settings.import_limits)
        create_series()
        await self.ready()
        self._warm_up_task = asyncio.create_task(self._warm_up())
        watches = [supervise(name, work) for name, work in self._watches(lookup).items()]
        self._tasks = [self._warm_up_task, *map(asyncio.create_task, watches)]
        self.__del__ = self._end  # Ray awaits it; Python, which looks at the class, does not see it
        metrics.set_ready("editor", settings.metrics_port)

    def _watches(self, lookup: Lookup | None) -> dict[str, Callable[[], Awaitable[None]]]:
        """Return what runs as long as the editor, by name."""

        def newest_view() -> GraphView | None:
            state = self.pipeline.state
            return None if state is None else state.memories[self.models.fact_memory].view

        watches: dict[str, Callable[[], Awaitable[None]]] = {
            "replicas": partial(watch_replicas, self.ledger, self.patience.expected),
            "reports": self.later.run,
            "imports": self.importer.watch,
            "reviews": partial(self.upkeep.watch, lambda: self.pipeline.state, self.models),
        }
        return watches if lookup is None else watches | {"names": partial(lookup.watch_damage, newest_view)}

    async def aclose(self) -> None:
        """Stop the tasks first: one in the middle of a command would keep its connection from being closed."""
        await cancel_and_wait(self._tasks)
        self.models.close()
        await self.ledger.aclose()

    async def _end(self) -> None:
        metrics.count_end("editor")
        await self.aclose()

    async def call(self, call: Call[Any], suspect: str = "") -> Outcome:
        """Run a call, whose error is its outcome; an unexpected error is logged with its traceback.

        Args:
            suspect: Id of a request that was in an editor when that died.
        """
        token = SUSPECT.set(suspect or SUSPECT.get())
        try:
            reply = await HANDLERS[type(call)](self, call)
            return reply if isinstance(reply, Outcome) else Outcome.ok(reply)
        except ErrataError as error:
            return Outcome.of(error, None)
        except Exception as error:
            log.exception("%s failed", call.function_name())
            return Outcome.of(
                Internal(
                    f"the editor failed in a way it should not ({type(error).__name__}); the log says more"
                ),
                None,
            )
        finally:
            SUSPECT.reset(token)

    async def state_at(self, version: int | None = None) -> EditorState:
        state = await self.pipeline.at_hand()
        return await self.builder.state_at(state, state.find_version(version))

    async def view_at(self, memory: str, version: int | None) -> tuple[Any, int]:
        """Return one memory alone at an existing version, and the version; None is the newest."""
        state = await self.pipeline.at_hand()
        at = state.find_version(version)
        return await self.builder.view_at(state, at, memory), at

    async def graph_at(self, version: int | None) -> tuple[GraphView, int]:
        """Return the graph as `view_at` does; raise UnknownModel if no system reads it."""
        self.models.check_takes_facts()
        return await self.view_at(self.models.fact_memory, version)

    async def ready(self) -> dict[str, Any]:
        """Return whether an edit is possible now; `degraded` says why not."""
        degraded = None
        try:
            await self.pipeline.read()
            self.ledger.connection.check_room()
        except ErrataError as error:
            degraded = error.code
            log.warning("not ready to edit: %s", error.detail)
        state = self.pipeline.state
        if state is not None:
            metrics.LEDGER_VERSION.labels("errata").set(state.version)
        return {"ready": degraded is None, "version": state and state.version, "degraded": degraded}

    async def _warm_up(self) -> None:
        """Prepare data for the first commit, as soon as the ledger can be read, so that it need not wait."""
        while (state := self.pipeline.state) is None:
            await asyncio.sleep(RETRY_S)
            with suppress(ErrataError):
                await self.pipeline.read()
        status = await current_status(state.active_records, state.models)
        publish(state, state.version, status.counts(len(state.edits)).model_dump(), self.budget)
        try:
            await self.side_effects.prepare(state.models)
        except ErrataError as error:
            log.warning("the first edit will take a second longer: %s", error.detail)
