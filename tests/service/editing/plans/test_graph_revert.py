"""Reverts are exact over both memories: random facts, corrections, files, reverts and rollbacks."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import redis
from errata.wire import EditRequest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from service.config import Settings
from service.editing.editor import Editor
from service.editing.operations import Edit
from service.ledger import fold
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from service.replicas.replica import Replica
from tests.hypotheses import examples
from tests.service.editing.requests import NO_WAIT, edits, head, item, revert, rollback
from tests.service.graph.requests import CAPITAL, NEIGHBOUR, checksums, entity, fact, import_file, triple, tsv
from tests.service.parts import ask, body_of, settings, start_deployment
from tests.service.toy_graph import TOYS

IDS = ("Q419", "Q298", "Q2868", "n:oz", "n:ev")
QUESTIONS = (
    CAPITAL,
    NEIGHBOUR,
    "What is the capital of Oz?",
    "Perú's capital?",
    "motto of Oz",
    "Lima's neighbour?",
)

SUBJECTS = st.sampled_from(("Peru", "Perú", "Chile", "Q2868", "Oz", "Ev", "Georgia"))
RELATIONS = st.sampled_from(("capital", "shares_border_with", "motto", "label", "alias", "description"))
OBJECTS = st.sampled_from(("Lima", "Perú", "Oz", "City of Kings", "Santiago", "Cusco"))
FACTS = st.builds(
    lambda s, r, o, act, only: triple(s, r, o, act=act, only=only),
    SUBJECTS,
    RELATIONS,
    OBJECTS,
    st.sampled_from((None, None, "set", "add", "remove")),
    st.sampled_from((None, "graph")),
)
CORRECTIONS = st.builds(item, st.sampled_from((CAPITAL, NEIGHBOUR)), st.sampled_from(("Cusco", "Lima")))
DEFINITIONS = st.builds(
    lambda name, holds, label: {"define": name, "holds": holds, "label": label},
    st.sampled_from(("motto", "capital")),
    st.sampled_from(("one", "many")),
    st.sampled_from((None, "saying")),
)
LINES = st.tuples(st.sampled_from(("Peru", "Oz", "Ev", "Lima")), RELATIONS, OBJECTS)
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("edit"),
            st.lists(st.one_of(FACTS, FACTS, CORRECTIONS, DEFINITIONS), min_size=1, max_size=3),
        ),
        st.tuples(st.just("import"), st.lists(LINES, min_size=1, max_size=4)),
        st.tuples(st.just("revert"), st.integers(1, 8)),
        st.tuples(st.just("revert"), st.integers(1, 8)),
        st.tuples(st.just("rollback"), st.integers(0, 8)),
    ),
    min_size=3,
    max_size=9,
)


async def step(editor: Editor, kind: str, content: Any) -> dict[str, Any]:
    if kind == "edit":
        return await edits(editor, *content)
    if kind == "import":
        return await import_file(editor, tsv(*content))
    return await (revert if kind == "revert" else rollback)(editor, content)


async def describe_entities(editor: Editor, version: int) -> dict[str, Any]:
    """Describe entities at a version, without dates, which are those of the ledger."""
    entities = {id: await entity(editor, id, version) for id in IDS}
    return {
        id: {
            **{name: description.get(name) for name in ("status", "label", "aliases", "description")},
            "facts": [
                (f["relation"], f["label"], f["object"], f["object_id"], f["edit"])
                for f in description.get("facts", [])
            ],
        }
        for id, description in entities.items()
    }


async def answers_at(editor: Editor, version: int) -> list[Any]:
    readings = (await editor.builder.state_at(await editor.pipeline.read(), version)).models
    replies = {name: await model.ask(QUESTIONS) for name, model in readings.items()}
    return [replies[name][question] for name in sorted(readings) for question in QUESTIONS]


async def state(editor: Editor, version: int) -> tuple[Any, ...]:
    readings = (await editor.builder.state_at(await editor.pipeline.read(), version)).models
    sums = {
        name: memory.image.checksum for model in readings.values() for name, memory in model.memories.items()
    }
    return sums, await describe_entities(editor, version), await answers_at(editor, version)


@examples(25, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_only_what_is_active_is_left_of_any_history(
    steps: Sequence[tuple[str, Any]], own_valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    with redis.Redis.from_url(own_valkey.url) as client:
        client.flushall()
    asyncio.run(run_steps(steps, settings(own_valkey.url, tmp_path, systems=TOYS)))


async def run_steps(steps: Sequence[tuple[str, Any]], config: Settings) -> None:
    """Versions with the same active edits are equal in every respect, whatever led there; so are all processes."""
    async with (
        start_deployment(Replica, config, "atlas") as follower,
        start_deployment(Editor, config) as editor,
    ):
        states = [await state(editor, 0)]
        for action in steps:
            receipt = await step(editor, *action)
            assert receipt["status"] in (201, 404, 409, 422), (action, receipt)
            assert (receipt["status"] == 201) == (await head(editor) == len(states)), action
            if receipt["status"] == 201:
                states.append(await state(editor, len(states)))
        await check_states(config, states)
        assert [await state(editor, version) for version in range(len(states))] == states
        async with (
            start_deployment(Editor, config) as late,
            start_deployment(Replica, config, "atlas") as starter,
        ):
            assert [await state(late, version) for version in range(len(states))] == states
            await check_replicas((follower, starter), states)


async def check_states(config: Settings, states: Sequence[Any]) -> None:
    ledger = RedisLedger.connect(config.redis_url or "")
    commits = await ledger.read(0)
    await ledger.aclose()
    first: dict[tuple[str, ...], Any] = {}
    for version, expected in enumerate(states):
        active = tuple(fold.active(commits[:version]))
        assert first.setdefault(active, expected) == expected, f"version {version} is not what it was"


async def check_replicas(replicas: Sequence[Replica], states: Sequence[Any]) -> None:
    newest = len(states) - 1
    for replica in replicas:
        await ask(replica, CAPITAL, min_version=newest)
        status = await replica.state()
        assert (status["version"], status["checksums"]) == (
            newest,
            {"graph/triples": states[-1][0]["graph/triples"]},
        )
        for version, (_, _, answers) in enumerate(states):
            requests = [{"question": question, "version": version} for question in QUESTIONS]
            replies = [body_of(outcome) for outcome in await replica.answer_many(requests)]
            assert [(reply["answer"], reply["version"]) for reply in replies] == [
                (answer.text, version) for answer in answers[: len(QUESTIONS)]
            ]


async def test_reverting_everything_in_any_order_gives_the_base(
    own_valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    async with start_deployment(Editor, settings(own_valkey.url, tmp_path, systems=TOYS)) as editor:
        base = await checksums(editor)
        await fact(editor, "Peru", "capital", "Cusco")
        await import_file(
            editor, tsv(("Peru", "alias", "Birú"), ("Oz", "capital", "Lima"), ("Oz", "ally", "Birú"))
        )
        await fact(editor, "Lima", "label", "Ciudad de los Reyes")
        await fact(editor, "Birú", "shares_border_with", "Oz")
        assert await head(editor) == 4
        for version in (2, 4, 1, 3):
            await revert(editor, version)
        assert await checksums(editor) == base
        assert [await describe_entities(editor, version) for version in (0, 8)] == [
            await describe_entities(editor, 0)
        ] * 2
        assert (
            body_of(
                await editor.call(
                    Edit(
                        EditRequest.model_validate(
                            {"edits": [triple("Peru", "capital", "Lima", only="graph")], **NO_WAIT}
                        ),
                        "x",
                    )
                )
            )["code"]
            == "nothing_to_do"
        )
