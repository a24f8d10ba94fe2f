"""A replica answers from one version, follows the ledger and reports its state."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import redis
from errata.wire import Answer

from service.app import build
from service.config import Settings
from service.editing.editor import Editor
from service.errors import LedgerCorrupt, LedgerUnavailable
from service.ledger.commit import Commit
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.keys import SCHEMA
from service.ledger.layout_version import LAYOUT
from service.ledger.store import RedisLedger
from service.metrics import metrics
from service.replicas.replica import Replica
from service.replicas.snapshot import Snapshot
from tests.service.parts import (
    PATIENCE_S,
    as_ray_runs,
    ask,
    body_of,
    edit,
    sample,
    settings,
    start_deployment,
    stopwatch,
    wait_until,
)

PERU = "What is the capital of Peru?"


@pytest.fixture
async def replica(valkey: EmbeddedValkey, ledger: RedisLedger, tmp_path: Path) -> AsyncIterator[Replica]:
    async with start_deployment(
        Replica, settings(valkey.url, tmp_path, history=2, version_wait_s=PATIENCE_S), "toy"
    ) as replica:
        yield replica


@pytest.fixture
async def editor(valkey: EmbeddedValkey, replica: Replica, tmp_path: Path) -> AsyncIterator[Editor]:
    async with start_deployment(Editor, settings(valkey.url, tmp_path)) as editor:
        yield editor


async def test_a_replica_answers_follows_an_edit_and_names_the_version(
    replica: Replica, editor: Editor
) -> None:
    assert (await ask(replica, PERU))["answer"] == "Lima"
    receipt = await edit(editor, PERU, "Cusco")
    assert (receipt["status"], receipt["version"], receipt["all_applied"]) == (201, 1, True)
    after = await ask(replica, PERU)
    assert (after["answer"], after["version"]) == ("Cusco", 1)
    assert after["edits"] == [receipt["report"]["edits"][0]["id"]]


async def test_an_answer_is_what_the_wire_promises(replica: Replica) -> None:
    answer = await ask(replica, PERU, explain=True)
    Answer.model_validate({k: v for k, v in answer.items() if k != "status"}, strict=False)


async def test_any_version_can_be_pinned_after_it_left_the_cache(replica: Replica, editor: Editor) -> None:
    for number in range(1, 7):
        await edit(editor, PERU, f"City {number}")
    for number in (0, 1, 3, 6):
        answer = await ask(replica, PERU, version=number)
        assert (answer["answer"], answer["version"]) == (f"City {number}" if number else "Lima", number)


async def test_a_version_that_does_not_exist_is_not_found_at_once(replica: Replica) -> None:
    async with stopwatch() as seconds:
        answer = await ask(replica, PERU, version=7)
        assert (answer["status"], answer["code"], answer["head"]) == (404, "not_found", 0)
        assert seconds() < 1.0, "it was waited for"


async def test_a_version_that_is_on_its_way_is_waited_for(replica: Replica, editor: Editor) -> None:
    applied = replica._loader.after

    async def late(snapshot: Snapshot, commits: Sequence[Commit]) -> Snapshot:
        await asyncio.sleep(0.2)
        return await applied(snapshot, commits)

    replica._loader.after = late  # type: ignore[method-assign]
    await edit(editor, PERU, "Cusco", wait="none")
    answer = await ask(replica, PERU, version=1)
    assert (answer["status"], answer["answer"], answer["version"]) == (200, "Cusco", 1)


async def test_a_version_that_cannot_be_confirmed_is_waited_for(
    own_valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    config = settings(own_valkey.url, tmp_path, version_wait_s=0.5)
    async with start_deployment(Replica, config, "toy") as replica:
        own_valkey.stop()
        started_at = time.perf_counter()
        answer = await ask(replica, PERU, version=1)
        assert (answer["status"], answer["code"]) == (503, "ledger_unavailable")
        assert time.perf_counter() - started_at >= 0.5


async def test_a_replica_answers_from_its_newest_version_up_to_a_bound(
    replica: Replica, editor: Editor
) -> None:
    """It waits for none, unless the question has a least version, too."""
    for number in (1, 2):
        await edit(editor, PERU, f"City {number}")
    for limit, version in ((1, 1), (2, 2), (9, 2)):
        answer = await ask(replica, PERU, max_version=limit)
        assert (answer["answer"], answer["version"]) == (f"City {version}", version)
    waiting = asyncio.create_task(ask(replica, PERU, min_version=3, max_version=3))
    for number in (3, 4):
        await edit(editor, PERU, f"City {number}")
    assert (await waiting)["answer"] == "City 3"


async def test_min_version_waits_for_the_replica(replica: Replica, editor: Editor) -> None:
    waiting = asyncio.create_task(ask(replica, PERU, min_version=1))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await edit(editor, PERU, "Cusco")
    assert (await waiting)["answer"] == "Cusco"


async def test_one_bad_question_does_not_spoil_its_batch(replica: Replica) -> None:
    questions = [{"question": PERU}, {"question": "break the model"}, {"question": PERU}]
    outcomes = [body_of(outcome) for outcome in await replica.answer_many(questions)]
    assert [o["status"] for o in outcomes] == [200, 500, 200]


async def test_a_field_the_system_does_not_read_is_refused_not_dropped(replica: Replica) -> None:
    answer = await ask(replica, PERU, context=["Peru moved its capital."])
    assert (answer["status"], answer["code"], answer["field"]) == (422, "invalid_input", "context")


async def test_answers_go_on_while_the_ledger_is_away_and_say_so(
    own_valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    config = settings(own_valkey.url, tmp_path)
    async with (
        start_deployment(Replica, config, "toy") as replica,
        start_deployment(Editor, config) as editor,
    ):
        await edit(editor, PERU, "Cusco")
        own_valkey.stop()
        answer = await ask_until_degraded(replica, "ledger_unavailable")
        assert (answer["answer"], answer["version"]) == ("Cusco", 1)
        refused = await edit(editor, PERU, "Arequipa")
        assert (refused["status"], refused["code"]) == (503, "ledger_unavailable")
        own_valkey.start()
        await ask_until_degraded(replica, None)
        assert (await edit(editor, PERU, "Arequipa"))["version"] == 2
        assert (await ask(replica, PERU, min_version=2))["answer"] == "Arequipa"


async def test_a_replica_that_starts_again_tells_its_version_without_a_commit(
    valkey: EmbeddedValkey, replica: Replica, editor: Editor, tmp_path: Path
) -> None:
    await edit(editor, PERU, "Cusco")
    metrics.set_replica_version("toy", 0, 0, 0)
    async with start_deployment(Replica, settings(valkey.url, tmp_path), "toy"):
        assert (gauge("version_min"), gauge("version_max"), gauge("lag")) == (1, 1, 0)


async def test_a_replica_that_is_stuck_shows_its_lag(replica: Replica, editor: Editor) -> None:
    async def stuck(snapshot: Snapshot, commits: Sequence[Commit]) -> Snapshot:
        raise LedgerCorrupt("rows are missing")

    replica._loader.after = stuck  # type: ignore[method-assign]
    for number in range(3):
        await edit(editor, PERU, f"City {number}", wait="none")
    await wait_until(lambda: gauge("lag") == 3)
    assert (gauge("version_min"), (await replica.state())["lag"]) == (0, 3)
    await wait_until(lambda: (gauge("behind_seconds") or 0) > 1)


async def test_a_replica_that_applies_what_comes_is_no_second_behind(
    replica: Replica, editor: Editor
) -> None:
    for number in range(3):
        await edit(editor, PERU, f"City {number}")
    await wait_until(lambda: gauge("version_min") == 3)
    assert gauge("behind_seconds") == 0


async def test_the_parts_of_a_questions_time_add_up_to_all_of_it(replica: Replica) -> None:
    before = sum_of_parts()
    await ask(replica, PERU)
    parts = {part: seconds - before[part] for part, seconds in sum_of_parts().items()}
    assert set(parts) == {"queue", "graph", "model", "total"}
    assert parts.pop("total") == pytest.approx(sum(parts.values()))


def sum_of_parts() -> dict[str, float]:
    [family] = metrics.ANSWER_PARTS.collect()
    sums = [item for item in family.samples if item.name.endswith("_sum")]
    return {item.labels["part"]: item.value for item in sums if item.labels["model"] == "toy"}


def gauge(name: str) -> float | None:
    return sample(f"errata_replica_{name}", model="toy")


async def test_a_replica_that_ray_stops_leaves_the_list_at_once(
    valkey: EmbeddedValkey, ledger: RedisLedger, tmp_path: Path
) -> None:
    config = settings(valkey.url, tmp_path)
    running = as_ray_runs(Replica, config, "toy")
    before = ends("toy")
    await running.initialize_callable()
    assert len(await ledger.replicas()) == 1
    await running.call_destructor()
    assert await ledger.replicas() == {}
    assert ends("toy") == before + 1


def ends(part: str) -> float:
    return sample("errata_process_ends_total", part=part) or 0


async def test_an_editor_that_ray_stops_counts_as_ended(
    valkey: EmbeddedValkey, ledger: RedisLedger, tmp_path: Path
) -> None:
    running = as_ray_runs(Editor, settings(valkey.url, tmp_path))
    before = ends("editor")
    await running.initialize_callable()
    await running.call_destructor()
    assert ends("editor") == before + 1
    assert sample("errata_processes", part="editor") == 0


def test_ray_leaves_a_replica_the_time_to_leave_the_list(tmp_path: Path) -> None:
    model = build(settings("unix:///nobody", tmp_path), 0)._bound_deployment.init_args[1]["toy"]
    stopping = model._bound_deployment._deployment_config
    assert stopping.graceful_shutdown_wait_loop_s <= stopping.graceful_shutdown_timeout_s / 4


async def test_a_replica_that_never_got_ready_can_be_stopped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    running = as_ray_runs(Replica, settings(f"unix://{tmp_path}/nobody", tmp_path), "toy")
    before = ends("toy")
    starting = asyncio.create_task(running.initialize_callable())
    await wait_until(lambda: "waits for the ledger" in caplog.text)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await running.call_destructor()
    assert ends("toy") == before, "who could not start has not ended as it was asked to"
    assert not [record for record in caplog.records if record.levelname == "ERROR"], "Ray logs what it raises"


async def test_a_replica_whose_server_comes_up_later_starts_then(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = EmbeddedValkey(tmp_path / "valkey")

    async def come_up() -> None:
        await wait_until(lambda: "waits for the ledger" in caplog.text)
        await asyncio.to_thread(server.start)

    coming = asyncio.create_task(come_up())
    try:
        async with start_deployment(Replica, settings(server.url, tmp_path), "toy") as replica:
            assert (await ask(replica, PERU))["answer"] == "Lima"
        [message] = [record.getMessage() for record in caplog.records if "waits" in record.getMessage()]
        assert f"{replica.id} waits for the ledger before it starts" in message
        assert str(tmp_path) in message
    finally:
        await coming
        server.stop()


async def start_in_vain(config: Settings) -> None:
    running = as_ray_runs(Replica, config, "toy")
    try:
        async with asyncio.timeout(PATIENCE_S):
            await running.initialize_callable()
    finally:
        await running.call_destructor()


async def test_an_error_that_waiting_cannot_mend_stops_the_start_at_once(
    own_valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    with redis.Redis.from_url(own_valkey.url) as client:
        client.set(SCHEMA, LAYOUT + 1)
        with pytest.raises(LedgerUnavailable, match="start the newer one"):
            await start_in_vain(settings(own_valkey.url, tmp_path))
        client.config_set("requirepass", "a-password")
        with pytest.raises(LedgerUnavailable, match="authenticated"):
            await start_in_vain(settings(own_valkey.url, tmp_path))


async def test_the_data_has_our_layout_before_a_replica_reads_it(raw: redis.Redis, replica: Replica) -> None:
    assert raw.get(SCHEMA) == str(LAYOUT).encode()


async def test_the_base_needs_no_ledger(own_valkey: EmbeddedValkey, tmp_path: Path) -> None:
    config = settings(own_valkey.url, tmp_path, history=1)
    async with (
        start_deployment(Replica, config, "toy") as replica,
        start_deployment(Editor, config) as editor,
    ):
        await edit(editor, PERU, "Cusco")
        await edit(editor, PERU, "Puno")
        own_valkey.stop()
        answer = await ask(replica, PERU, version=0)
        assert (answer["status"], answer.get("answer"), answer.get("version")) == (200, "Lima", 0)


async def ask_until_degraded(replica: Replica, expected: str | None) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_S):
        while (answer := await ask(replica, PERU))["degraded"] != expected:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return answer
