"""One run: the service, its load, the faults in turn, and at the end a check of the ledger and of all records."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import httpx
from errata import AsyncErrata
from errata.wire import VersionDetail

from service.concurrency import cancel_and_wait
from tests.chaos import questions
from tests.chaos.client import Client, GraphAsker, Pins, UnknownEntity, write_triples
from tests.chaos.editor import Editor
from tests.chaos.journal import Correction, Intent, Journal
from tests.chaos.life import Life
from tests.chaos.recorder import Recorder
from tests.chaos.scene import Fault, FaultResult, Scene, strike
from tests.chaos.watch import EVERY_S, Watch

SETTLE_S = 15.0  # of load before the first fault
KEEP_ALIVE_S = (
    2.0  # less than the service keeps an idle connection, so that none is closed as it is used again
)
READERS = 8
FINAL_PINS = 200
LAST_S = 3.0  # for requests under way when the load ends


@dataclass(frozen=True)
class Options:
    minutes: float
    seed: int
    clients: int
    editors: int
    out: Path
    wide: bool = False
    graph_askers: int = 8
    strangers: int = 4


@dataclass(frozen=True)
class Run:
    """The records of a run to judge and report. wrong_sums: replicas whose rows differ from the ledger's."""

    options: Options
    journal: Journal
    recorder: Recorder
    watch: Watch
    results: Sequence[FaultResult]
    skipped: Sequence[Fault]
    unmet: Sequence[str]
    commits: Sequence[VersionDetail]
    wrong_sums: Sequence[str]
    took_s: float


def run(options: Options, faults: Sequence[Fault], last: Sequence[Fault], hold_s: float) -> Run:
    """faults: in turn while there is time, then the load alone. last: when it is over. hold_s: of what can last."""
    options.out.mkdir(parents=True)
    life = Life(options.out, options.wide)
    try:
        life.service.start()
        return asyncio.run(_Course(options, life, hold_s).run(faults, last))
    finally:
        life.end()


class _Course:
    def __init__(self, options: Options, life: Life, hold_s: float) -> None:
        self._options, self._life = options, life
        self._journal = Journal(options.out / "journal.jsonl")
        self._recorder = Recorder(self._journal)
        self._watch = Watch(life, self._recorder.start_s)
        self._scene = Scene(life, self._journal, self._recorder, Random(options.seed), hold_s)
        self._results: list[FaultResult] = []
        self._asker_key = ""

    async def run(self, faults: Sequence[Fault], last: Sequence[Fault]) -> Run:
        if self._options.wide:
            await asyncio.to_thread(self._prepare_wide)
        await asyncio.to_thread(self._make_history)
        async with self._run_watch(), self._run_load():
            await asyncio.sleep(SETTLE_S)
            skipped = await asyncio.to_thread(self._strike_all, faults, last)
        took_s = self._recorder.now
        commits, wrong_sums = await self._read_back()
        self._write()
        return Run(
            self._options,
            self._journal,
            self._recorder,
            self._watch,
            self._results,
            skipped,
            self._scene.unmet,
            commits,
            wrong_sums,
            took_s,
        )

    def _prepare_wide(self) -> None:
        """Prepare a key for the clients, and the imported graph, which is version 1."""
        path, intent = self._options.out / "graph.tsv", Intent("edit")
        write_triples(path)
        self._journal.begin(intent)
        with self._life.service.errata(timeout_s=300) as errata:
            self._asker_key = errata.make_key("asker", ["ask"]).key
            errata.import_graph(path, message=intent.key)

    def _make_history(self) -> None:
        with self._life.service.http() as http:
            for number in range(questions.HISTORY):
                correction = Correction(questions.historic(number), f"right {number}")
                self._scene.commit(http, correction, wait="none")
        self._recorder.start_s = self._watch.start_s = time.monotonic()

    def _strike_all(self, faults: Sequence[Fault], last: Sequence[Fault]) -> list[Fault]:
        """Those for which there was no time."""
        skipped = [fault for fault in faults if self._late() or not self._strike(fault)]
        time.sleep(max(0.0, 60 * self._options.minutes - self._recorder.now))
        for fault in last:
            self._strike(fault)
        return skipped

    def _late(self) -> bool:
        return self._recorder.now > 60 * self._options.minutes

    def _strike(self, fault: Fault) -> bool:
        result = strike(fault, self._scene)
        self._results.append(result)
        print(describe_result(result), flush=True)
        return True

    @asynccontextmanager
    async def _run_load(self) -> AsyncIterator[None]:
        """Run clients and editors, each with a separate random generator, so that a run can be repeated."""
        n_callers = self._options.clients + self._options.editors
        limits = httpx.Limits(max_connections=n_callers, keepalive_expiry=KEEP_ALIVE_S)
        service, seed = self._life.service, self._options.seed
        key = {"authorization": f"Bearer {service.key}"}
        async with httpx.AsyncClient(
            base_url=service.url, headers=self._asker_headers, limits=limits, trust_env=False
        ) as http:
            pins = Pins(Random(f"{seed} pins"))
            clients = [
                Client(http, self._recorder, pins, Random(f"{seed} asks {n}"), self._life.model)
                for n in range(self._options.clients)
            ]
            async with httpx.AsyncClient(
                base_url=service.url, headers=key, limits=limits, trust_env=False
            ) as admin_http:
                editors = [
                    Editor(
                        f"editor {n}", admin_http, self._journal, self._recorder, Random(f"{seed} edits {n}")
                    )
                    for n in range(self._options.editors)
                ]
                async with self._run_wide(http), _run_people(clients + editors):
                    yield

    @property
    def _asker_headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._asker_key}"} if self._asker_key else {}

    @asynccontextmanager
    async def _run_wide(self, http: httpx.AsyncClient) -> AsyncIterator[None]:
        """Run clients that ask about the imported graph, and strangers."""
        options, seed = self._options, self._options.seed
        if not options.wide:
            yield
            return
        graph = [
            GraphAsker(http, self._recorder, Random(f"{seed} graph {n}")) for n in range(options.graph_askers)
        ]
        async with httpx.AsyncClient(base_url=http.base_url, trust_env=False) as outside:
            strangers = [
                UnknownEntity(outside, self._recorder, Random(f"{seed} stranger {n}"))
                for n in range(options.strangers)
            ]
            async with _run_people([*graph, *strangers]):
                yield

    @asynccontextmanager
    async def _run_watch(self) -> AsyncIterator[None]:
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(EVERY_S):
                self._watch.look()

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        try:
            yield
        finally:
            stop.set()
            await asyncio.to_thread(watching.join)

    async def _read_back(self) -> tuple[list[VersionDetail], list[str]]:
        """Read the present and earlier answers, check every replica's rows, and read every commit.

        The commits come last, because an editor's last request may be made after it has stopped waiting.
        """
        await asyncio.sleep(LAST_S)
        service = self._life.service
        async with AsyncErrata(service.url, key=service.key) as errata:
            await self._ask_again((await errata.log(limit=1)).head)
            right = (await errata.memory()).checksums
            replicas = (await errata.replicas()).replicas
            wrong = [
                replica.replica for replica in replicas if not replica.checksums.items() <= right.items()
            ]
            return await _show_all(errata, (await errata.log(limit=1)).head), wrong

    async def _ask_again(self, head: int) -> None:
        chance = Random(f"{self._options.seed} again")
        pins = [
            {"question": questions.choose(chance), "version": chance.randint(0, head)}
            for _ in range(FINAL_PINS)
        ]
        now = [{"question": question, "min_version": head} for question in questions.EDITABLE]
        async with httpx.AsyncClient(
            base_url=self._life.service.url, headers=self._asker_headers, trust_env=False
        ) as http:
            client = Client(http, self._recorder, Pins(chance), chance, self._life.model)
            for batch in (now, pins):
                await client.ask_many(batch)

    def _write(self) -> None:
        out = self._options.out
        self._recorder.write(out / "answers.jsonl")
        self._watch.write(out / "processes.jsonl")
        lines = [json.dumps(asdict(result)) + "\n" for result in self._results]
        (out / "faults.jsonl").write_text("".join(lines), encoding="utf-8")
        self._journal.close()


@asynccontextmanager
async def _run_people(
    people: Sequence[Client | Editor | GraphAsker | UnknownEntity],
) -> AsyncIterator[None]:
    """Run all clients in the background; one that ends by an error ends the run."""
    tasks = [asyncio.create_task(person.run()) for person in people]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()
    finally:
        await cancel_and_wait(tasks)


async def _show_all(errata: AsyncErrata, head: int) -> list[VersionDetail]:
    turns = asyncio.Semaphore(READERS)

    async def show(version: int) -> VersionDetail:
        async with turns:
            return await errata.show(version)

    return list(await asyncio.gather(*(show(version) for version in range(1, head + 1))))


def describe_result(result: FaultResult) -> str:
    if result.missing:
        return f"{result.name}: left out, {result.missing}"
    whole = "NOT WHOLE AGAIN" if result.recovery_s is None else f"whole after {result.recovery_s:.1f} s"
    refused = ", ".join(f"{count} x {code}" for code, count in result.refusals.items())
    return (
        f"{result.start_s:5.0f} s  {result.name}: {whole}, no answer for {result.silence_s:.1f} s; {refused}"
    )
