"""A file becomes one commit or none; until then nothing of it is visible, and each bad line is named."""

import asyncio
import gzip
from contextlib import suppress
from typing import Any

import pytest
import redis
from errata.wire import ImportOrder

from service.editing.editor import Editor
from service.editing.operations import AbandonImport, BeginImport, FeedImport, FinishImport
from service.editing.plans import import_
from service.errors import LedgerUnavailable
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import NO_WAIT, change, head, revert, rollback
from tests.service.graph.requests import (
    CAPITAL,
    answers,
    checksums,
    entity,
    fact,
    import_file,
    import_notes,
    rows,
    search,
    tsv,
    values,
)
from tests.service.parts import body_of, wait_until
from tests.service.toy_graph import TOYS

OPTIONS = {"systems": TOYS}

OZ = tsv(("Oz", "capital", "Emerald City"), ("Oz", "shares_border_with", "Ev"), ("Ev", "capital", "Evna"))
OZ_CAPITAL = "What is the capital of Oz?"


async def begin(editor: Editor, author: str = "ana", **order: Any) -> str:
    reply = body_of(await editor.call(BeginImport(ImportOrder.model_validate({**NO_WAIT, **order}), author)))
    session: str = reply["id"]
    return session


@pytest.mark.parametrize(
    ("tags", "name"),
    [
        (["en-GB"], "en-GB"),
        (["en-GB", "en-US"], "en-GB"),
        (["en-GB", "en"], "en"),
        (["en", "en-GB"], "en"),
        (["de", "en-US"], "en-US"),
        (["de"], "r1"),
    ],
)
async def test_a_thing_and_a_relation_without_a_name_in_the_language_have_that_of_a_region(
    editor: Editor, tags: list[str], name: str
) -> None:
    rdfs, property = "http://www.w3.org/2000/01/rdf-schema#", "http://www.wikidata.org/entity/P9999"
    lines = [
        f'<http://x.org/r1> <{rdfs}{kind}> "{tag}"@{tag} .' for kind in ("label", "comment") for tag in tags
    ]
    lines += [f'<{property}> <{rdfs}label> "{tag}"@{tag} .' for tag in tags]
    lines += ["<http://x.org/r1> <http://www.wikidata.org/prop/direct/P9999> <http://x.org/r2> .", ""]
    await import_file(editor, "\n".join(lines).encode())
    thing = await entity(editor, "http://x.org/r1")
    texts = (thing["label"], thing["description"], thing["facts"][0]["label"])
    assert texts == ((name, "", "P9999") if tags == ["de"] else (name, name, name))


async def test_the_table_of_the_other_system_is_left_alone(editor: Editor) -> None:
    before = await checksums(editor)
    await import_file(editor, OZ)
    after = await checksums(editor)
    assert {memory for memory in before if before[memory] != after[memory]} == {"graph/triples"}


async def test_every_line_that_cannot_be_used_is_named(editor: Editor) -> None:
    data = b"\n".join(
        [
            b"Oz\tcapital\tEmerald City",
            b"Oz\tcapital",
            b"",
            b"\tcapital\tnobody",
            b"Oz\t@label\tOz",
            b"\xff\xfe\tcapital\tx",
            b"Georgia\tcapital\tSavannah",
            b"Ev\tcapital\t" + b"x" * 3_000,
            b"Oz\talias\tZ",
            b"Ev\tcapital\tEv\x07na",
            b"one\ttwo\tthree\tfour",
        ]
    )
    counts = (await import_file(editor, data))["counts"]
    codes = {line["line"]: line["code"] for line in counts["rejected_lines"]}
    assert codes == {
        2: "columns",
        4: "empty",
        5: "reserved",
        6: "encoding",
        7: "ambiguous",
        8: "too_long",
        9: "invalid_input",
        10: "control",
        11: "columns",
    }
    assert (counts["lines"], counts["triples"], counts["rejected"]) == (11, 1, 9)
    assert sum(counts["rejected_by"].values()) == 9


async def test_of_very_many_bad_lines_all_are_counted_and_the_first_are_told(editor: Editor) -> None:
    counts = (await import_file(editor, b"bad\n" * 5_000 + OZ, format="tsv"))["counts"]
    assert (counts["rejected"], counts["triples"]) == (5_000, 3)
    assert [line["line"] for line in counts["rejected_lines"]] == list(range(1, 101))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"bad\n",
        b"a\tb\nc\td\n",
        gzip.compress(b"", mtime=0),
        b"\x1f\x8bnot gzip",
        b"PK\x03\x04...",
        b"\0" * 50,
        b'subject,relation,object\nOz,capital,"Emerald City\nOz,currency,euro\n',
    ],
)
async def test_a_file_of_which_nothing_can_be_used_is_refused(
    editor: Editor, raw: redis.Redis, data: bytes
) -> None:
    refused = await import_file(editor, data)
    assert (refused["status"], refused["code"]) == (422, "invalid_input")
    assert (await head(editor), rows(raw), import_notes(raw)) == (0, set(), {})
    assert (await import_file(editor, OZ))["version"] == 1


async def test_how_the_file_is_cut_on_its_way_does_not_matter(editor: Editor) -> None:
    data = tsv(*((f"Stadt {n}", "capital", f"北京 {n}") for n in range(40)))
    await import_file(editor, [data[at : at + 7] for at in range(0, len(data), 7)])
    packed = gzip.compress(tsv(("Oz", "capital", "Emerald City")))
    await import_file(editor, [packed[at : at + 3] for at in range(0, len(packed), 3)])
    assert await answers(editor, "What is the capital of Stadt 39?", OZ_CAPITAL) == [
        "北京 39",
        "Emerald City",
    ]


async def test_nothing_is_seen_and_nothing_is_stored_before_the_last_byte(
    editor: Editor, raw: redis.Redis
) -> None:
    before = await checksums(editor)
    session = await begin(editor)
    await editor.call(FeedImport(session, OZ))
    assert (rows(raw), import_notes(raw), await head(editor), await checksums(editor)) == (
        set(),
        {},
        0,
        before,
    )
    assert await answers(editor, OZ_CAPITAL) == [None]
    assert await search(editor, "Oz") == []
    await editor.call(AbandonImport(session))
    assert body_of(await editor.call(FinishImport(session, "none")))["code"] == "not_found"
    assert (rows(raw), await head(editor)) == (set(), 0)


async def test_an_abandoned_import_leaves_room_for_the_next(editor: Editor) -> None:
    for _ in range(5):
        session = await begin(editor)
        await editor.call(FeedImport(session, OZ[:10]))
        await editor.call(AbandonImport(session))
    assert (await import_file(editor, OZ))["status"] == 201


async def test_no_more_than_two_are_under_way(editor: Editor) -> None:
    sessions = [
        body_of(outcome)
        for outcome in await asyncio.gather(
            *(editor.call(BeginImport(ImportOrder.model_validate(NO_WAIT), name)) for name in "abcdef")
        )
    ]
    assert sorted(session["status"] for session in sessions) == [200, 200, 429, 429, 429, 429]
    for session in sessions:
        if session["status"] == 200:
            await editor.call(AbandonImport(session["id"]))
    assert (await import_file(editor, OZ))["status"] == 201


async def test_nobody_has_two_under_way(editor: Editor) -> None:
    session = await begin(editor)
    refused = body_of(await editor.call(BeginImport(ImportOrder.model_validate(NO_WAIT), "ana")))
    assert (refused["status"], refused["detail"]) == (
        429,
        "an import of yours is under way: wait until it is done",
    )
    assert (await import_file(editor, OZ, author="ben"))["status"] == 201
    await editor.call(AbandonImport(session))


async def test_one_that_trickles_or_falls_silent_leaves_its_slot(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_, "GRACE_S", 0.0)
    monkeypatch.setattr(import_, "LEAST_BYTES_PER_S", 1_000_000)
    session = await begin(editor)
    refused = body_of(await editor.call(FeedImport(session, OZ)))
    assert (refused["status"], refused["code"]) == (408, "too_slow")
    monkeypatch.setattr(import_, "IDLE_S", 0.0)
    monkeypatch.setattr(import_, "WATCH_EVERY_S", 0.01)
    await begin(editor)
    watching = asyncio.create_task(editor.importer.watch())
    await wait_until(lambda: not editor.importer._sessions)
    watching.cancel()
    assert (await import_file(editor, OZ))["code"] == "too_slow", "its sender has a slot again"


async def test_one_that_compares_for_long_is_not_idle(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_, "IDLE_S", 0.0)
    monkeypatch.setattr(import_, "WATCH_EVERY_S", 0.01)
    examine = import_.Importer._examine

    async def examine_slowly(*arguments: Any) -> Any:
        watching = asyncio.create_task(editor.importer.watch())
        await asyncio.sleep(0.1)
        watching.cancel()
        assert editor.importer._sessions, "its author may not begin another one"
        return await examine(*arguments)

    monkeypatch.setattr(import_.Importer, "_examine", examine_slowly)
    assert (await import_file(editor, OZ))["status"] == 201


async def test_a_dry_run_counts_measures_and_leaves_nothing(editor: Editor, raw: redis.Redis) -> None:
    before = await checksums(editor)
    dry = await import_file(editor, OZ, dry_run=True)
    assert (dry["status"], dry["version"], dry["counts"]["triples"]) == (200, None, 3)
    assert (rows(raw), import_notes(raw), await head(editor), await checksums(editor)) == (
        set(),
        {},
        0,
        before,
    )
    assert await search(editor, "Oz") == []
    real = await import_file(editor, OZ)
    volatile = {"seconds": 0.0, "source": ""}
    assert {**real["counts"], **volatile} == {**dry["counts"], **volatile}, "as if the first had not been"


async def test_a_reverted_name_resolves_to_no_entity_in_a_file(editor: Editor) -> None:
    """Old versions keep their names; a file is read at the newest."""
    await fact(editor, "Peru", "alias", "Birú")
    await revert(editor, 1)
    await import_file(editor, tsv(("Birú", "motto", "Not of Peru"), ("Oz", "ally", "Birú")))
    assert await values(editor, "Q419", "motto") == []
    assert await values(editor, "n:birú", "motto") == ["Not of Peru"]


async def test_a_file_that_was_taken_back_leaves_no_names_for_the_next(editor: Editor) -> None:
    label_line = b'<http://x.org/Oz> <http://www.w3.org/2000/01/rdf-schema#label> "Oz" .\n'
    await import_file(editor, label_line)
    await revert(editor, 1)
    counts = (await import_file(editor, OZ))["counts"]
    assert counts["new_entities"] == 2
    assert await values(editor, "n:oz", "capital") == ["Emerald City"]
    assert (await entity(editor, "http://x.org/Oz"))["status"] == 404


async def test_a_file_read_on_a_graph_that_changed_is_refused(editor: Editor, raw: redis.Redis) -> None:
    session = await begin(editor)
    await editor.call(FeedImport(session, OZ))
    await fact(editor, "Peru", "capital", "Cusco", only="graph")
    refused = body_of(await editor.call(FinishImport(session, "none")))
    assert (refused["status"], refused["code"]) == (409, "graph_moved")
    assert (refused["current"], refused["expected"]) == (1, 0)
    assert (rows(raw), import_notes(raw), await head(editor)) == (set(), {}, 1)


async def test_a_correction_of_another_memory_does_not_disturb_it(editor: Editor) -> None:
    session = await begin(editor)
    await editor.call(FeedImport(session, OZ))
    await change(editor, CAPITAL, "Cusco")
    assert body_of(await editor.call(FinishImport(session, "none")))["version"] == 2


async def test_a_graph_that_changes_while_the_rows_are_written_is_noticed(
    editor: Editor, start_editor: StartEditor, raw: redis.Redis
) -> None:
    async with start_editor(systems=TOYS) as other:
        writing = editor.importer._store.write

        async def overtake(*arguments: Any) -> Any:
            result = await writing(*arguments)
            await fact(other, "Peru", "capital", "Cusco")
            return result

        editor.importer._store.write = overtake  # type: ignore[method-assign]
        refused = await import_file(editor, OZ)
    assert (refused["code"], await head(editor), rows(raw), import_notes(raw)) == (
        "graph_moved",
        1,
        set(),
        {},
    )


async def test_an_expected_version_is_compared_with_the_whole_ledger(editor: Editor) -> None:
    await change(editor, CAPITAL, "Cusco")
    assert (await import_file(editor, OZ, expected_version=0))["code"] == "stale_version"
    session = await begin(editor, expected_version=1)
    await editor.call(FeedImport(session, OZ))
    await change(editor, CAPITAL, "Puno")
    assert body_of(await editor.call(FinishImport(session, "none")))["code"] == "stale_version"
    assert (await import_file(editor, OZ, expected_version=2))["version"] == 3


async def test_of_two_files_at_once_one_is_committed_and_the_other_may_retry(
    editor: Editor, raw: redis.Redis
) -> None:
    first, second = await begin(editor), await begin(editor, "ben")
    await editor.call(FeedImport(first, OZ))
    await editor.call(FeedImport(second, tsv(("Narnia", "capital", "Cair Paravel"))))
    outcomes = await asyncio.gather(
        editor.call(FinishImport(first, "none")), editor.call(FinishImport(second, "none"))
    )
    assert sorted(body_of(outcome)["status"] for outcome in outcomes) == [201, 409]
    assert (await head(editor), import_notes(raw)) == (1, {})
    await revert(editor, 1)
    assert (await import_file(editor, OZ))["version"] == 3


@pytest.mark.parametrize("when", ["written", "measured"])
async def test_what_another_editor_sweeps_away_is_never_committed(
    editor: Editor, start_editor: StartEditor, raw: redis.Redis, when: str
) -> None:
    """This happens if an editor is started while the old one finishes; rows of a commit can be read."""
    async with start_editor(systems=TOYS) as other:
        owner: Any = editor.importer._store if when == "written" else editor.pipeline
        method = "write" if when == "written" else "_evaluate"
        doing = getattr(owner, method)

        async def overtake(*arguments: Any) -> Any:
            result = await doing(*arguments)
            await other.call(AbandonImport(await begin(other)))
            return result

        setattr(owner, method, overtake)
        receipt = await import_file(editor, OZ)
        setattr(owner, method, doing)
    if receipt["status"] == 201:
        async with start_editor(systems=TOYS) as third:
            assert await answers(third, OZ_CAPITAL) == ["Emerald City"]
    else:
        assert (await head(editor), rows(raw), import_notes(raw)) == (0, set(), {})
        assert (await import_file(editor, OZ))["version"] == 1
        assert await answers(editor, OZ_CAPITAL) == ["Emerald City"]


@pytest.mark.parametrize("error", [asyncio.CancelledError, RuntimeError, LedgerUnavailable])
async def test_whatever_fails_after_the_commit_its_rows_stay(
    editor: Editor, raw: redis.Redis, error: type[BaseException]
) -> None:
    """The commit removes the note in the same step, and without a note nothing is dropped."""
    writing = editor.importer._pipeline.write

    async def fail(*arguments: Any) -> Any:
        await writing(*arguments)
        raise error("too late to matter")

    editor.importer._pipeline.write = fail  # type: ignore[method-assign]
    with suppress(asyncio.CancelledError):
        await import_file(editor, OZ)
    editor.importer._pipeline.write = writing  # type: ignore[method-assign]
    assert await head(editor) == 1
    assert import_notes(raw) == {}
    assert rows(raw)
    await editor.call(AbandonImport(await begin(editor)))
    assert await answers(editor, OZ_CAPITAL) == ["Emerald City"]


async def test_an_import_is_taken_back_and_brought_back_without_its_file(
    editor: Editor, raw: redis.Redis
) -> None:
    await fact(editor, "Oz", "motto", "No place like home")
    before = await checksums(editor), await entity(editor, "n:oz")
    await import_file(editor, OZ)
    with_it, rows_with_it = await checksums(editor), rows(raw)
    await revert(editor, 2)
    assert (await checksums(editor), await answers(editor, OZ_CAPITAL)) == (before[0], [None])
    oz = await entity(editor, "n:oz")
    assert oz["facts"] == before[1]["facts"]
    assert (oz["label"], oz["aliases"]) == (before[1]["label"], before[1]["aliases"])
    await revert(editor, 3)
    assert (await checksums(editor), rows(raw)) == (with_it, rows_with_it)
    assert await answers(editor, OZ_CAPITAL) == ["Emerald City"]
    await rollback(editor, 0)
    await rollback(editor, 2)
    assert await checksums(editor) == with_it
    assert [len(await search(editor, "Ev", version=v)) for v in range(7)] == [0, 0, 1, 0, 1, 0, 1]


async def test_a_file_may_name_entities_of_the_graph(editor: Editor) -> None:
    """It names them by id and by name, beside new names."""
    await import_file(
        editor,
        b"subject,subject_id,relation,object,object_id\n"
        b"Peru,Q419,shares_border_with,Chile,Q298\n"
        b"Pirwa,Q419,capital,Qosqo,Q5582862\n",
    )
    await import_file(editor, tsv(("Пеpу", "motto", "mixed script"), ("PERU", "currency", "nuevo sol")))
    peru = await entity(editor, "Q419")
    facts = {(fact["relation"], fact["object"]) for fact in peru["facts"]}
    assert ("shares_border_with", "Chile") in facts
    assert next(fact for fact in peru["facts"] if fact["relation"] == "capital")["object_id"] == "Q5582862"
    assert await values(editor, "Q419", "currency") == ["nuevo sol"]
    assert await values(editor, "Q419", "motto") == [], "other letters, another name"
    await revert(editor, 1)
    await revert(editor, 2)
    assert await answers(editor, CAPITAL) == ["Lima"]


async def test_two_files_that_name_a_new_entity_share_it(editor: Editor) -> None:
    await import_file(editor, OZ)
    await import_file(editor, tsv(("oz", "motto", "Home"), ("OZ ", "motto", "Sweet")))
    assert await values(editor, "n:oz", "motto") == ["Home", "Sweet"]
    assert (await entity(editor, "n:oz"))["label"] == "Oz"
    await revert(editor, 1)
    assert await values(editor, "n:oz", "capital") == []
    assert await values(editor, "n:oz", "motto") == ["Home", "Sweet"]


async def test_names_in_any_script_are_found(editor: Editor) -> None:
    names = [
        "Köln",
        "Αθήνα",
        "القاهرة",
        "ירושלים",
        "दिल्ली",
        "กรุงเทพ",
        "서울",
        "北京",
        "ქართლი",
        "Ṣan‘ā’",
        "🏝️ Atoll",
        "C++",
    ]
    await import_file(editor, tsv(*((name, "capital", f"city of {name}") for name in names)))
    for name in names:
        assert await answers(editor, f"capital {name} ?") == [f"city of {name}"], name
        assert len(await search(editor, name)) == 1, name


async def test_circles_and_facts_of_oneself_are_linked(editor: Editor) -> None:
    await import_file(editor, tsv(("A1", "knows", "B1"), ("B1", "knows", "A1"), ("A1", "knows", "A1")))
    ids = {(id, fact["object_id"]) for id in ("n:a1", "n:b1") for fact in (await entity(editor, id))["facts"]}
    assert ids == {("n:a1", "n:b1"), ("n:b1", "n:a1"), ("n:a1", "n:a1")}


async def test_a_repeated_statement_counts_once(editor: Editor) -> None:
    receipt = await import_file(editor, OZ * 50)
    assert (receipt["counts"]["triples"], (await entity(editor, "n:oz"))["degree"]) == (3, 2)


async def test_a_relation_of_one_value_takes_the_last_of_a_file(editor: Editor) -> None:
    lines = [("Oz", "capital", name) for name in ("A1", "B1", "A1", "C1")]
    await import_file(editor, tsv(*lines))
    assert await values(editor, "n:oz", "capital") == ["C1"]
    await import_file(editor, tsv(*lines[:3]))
    assert await values(editor, "n:oz", "capital") == ["A1"]


async def test_an_import_that_the_ledger_fails_under_leaves_nothing(
    editor: Editor, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, storing, n_failures = await checksums(editor), editor.importer._store.store, 2

    async def break_off(pieces: Any) -> None:
        nonlocal n_failures
        n_failures -= 1
        if n_failures < 0:
            raise LedgerUnavailable("gone")
        await storing(pieces)

    monkeypatch.setattr(editor.importer._store, "store", break_off)
    big = tsv(*((f"Town {n}", "capital", f"House {n}") for n in range(3_000)))
    assert (await import_file(editor, big))["code"] == "ledger_unavailable"
    assert (rows(raw), import_notes(raw), await head(editor), await checksums(editor)) == (
        set(),
        {},
        0,
        before,
    )
    monkeypatch.undo()
    assert (await import_file(editor, big))["version"] == 1


async def test_ids_with_slashes_colons_and_marks_are_ids(editor: Editor) -> None:
    ids = [
        "http://x.org/a/b",
        "http://x.org/a/b/",
        "urn:x:1:2",
        "_:b0",
        "http://x.org/?q=1&r=%20#f",
        "日本:1",
    ]
    data = "subject,subject_id,relation,object\n" + "".join(
        f"Thing {n},{id},motto,m{n}\n" for n, id in enumerate(ids)
    )
    receipt = await import_file(editor, data.encode())
    assert receipt["counts"]["entities"] == len(ids)
    for number, id in enumerate(ids):
        state = await entity(editor, id)
        assert (state["id"], state["facts"][0]["object"]) == (id, f"m{number}")


async def import_dry(editor: Editor) -> dict[str, Any]:
    return await import_file(editor, tsv(("Narnia", "capital", "Cair Paravel")), author="ben", dry_run=True)


async def test_a_thing_that_is_made_during_a_dry_run_is_found_afterwards(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate = editor.pipeline._evaluate

    async def overtake(*arguments: Any) -> Any:
        monkeypatch.undo()
        await fact(editor, "Zell", "alias", "Cella")
        return await evaluate(*arguments)

    monkeypatch.setattr(editor.pipeline, "_evaluate", overtake)
    assert (await import_dry(editor))["status"] == 200
    await fact(editor, "Cella", "capital", "Dorf")
    assert await values(editor, "n:zell", "capital") == ["Dorf"]
    assert (await entity(editor, "n:cella"))["status"] == 404
    assert await search(editor, "Narnia") == []


async def test_a_thing_whose_commit_is_under_way_when_a_dry_run_ends_is_found_afterwards(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = editor.pipeline._append

    async def wait_for_the_dry_run(*arguments: Any) -> Any:
        assert (await import_dry(editor))["status"] == 200
        return await append(*arguments)

    monkeypatch.setattr(editor.pipeline, "_append", wait_for_the_dry_run)
    await fact(editor, "Zell", "alias", "Cella")
    monkeypatch.undo()
    await fact(editor, "Cella", "capital", "Dorf")
    assert await values(editor, "n:zell", "capital") == ["Dorf"]


async def test_a_dry_run_takes_no_names_from_an_older_version(editor: Editor) -> None:
    await fact(editor, "Peru", "alias", "Birú")
    await revert(editor, 1)
    assert await search(editor, "Birú", version=1) == ["Q419"]
    await import_dry(editor)
    assert await search(editor, "Birú", version=1) == ["Q419"]


async def test_a_file_takes_no_names_from_the_dry_run_of_another(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await begin(editor)
    await editor.call(FeedImport(session, OZ))
    evaluate = editor.pipeline._evaluate

    async def overtake(*arguments: Any) -> Any:
        monkeypatch.undo()
        assert body_of(await editor.call(FinishImport(session, "none")))["version"] == 1
        return await evaluate(*arguments)

    monkeypatch.setattr(editor.pipeline, "_evaluate", overtake)
    label_line = b'<http://x.org/Oz> <http://www.w3.org/2000/01/rdf-schema#label> "Oz" .\n'
    await import_file(editor, label_line, author="ben", dry_run=True)
    assert await values(editor, "n:oz", "capital") == ["Emerald City"]


async def test_columns_that_nothing_reads_are_named_in_a_warning(editor: Editor) -> None:
    receipt = await import_file(editor, b"subject,relation,object,lang\nOz,capital,Evna,en\n", dry_run=True)
    assert any(
        "nothing reads the columns lang:" in text for text in receipt["report"]["edits"][0]["warnings"]
    )


async def test_an_import_says_which_relations_no_question_can_name(editor: Editor) -> None:
    wikibase, label = "http://w.org", "<http://www.w3.org/2000/01/rdf-schema#label>"
    facts = "".join(
        f"<{wikibase}/entity/Q1> <{wikibase}/prop/direct/P{n}> <{wikibase}/entity/Q2> .\n" for n in (1, 2)
    )
    names = f'<{wikibase}/entity/P1> {label} "owner" .\n'
    receipt = await import_file(editor, f"{facts}{names}".encode(), format="nt")
    warnings = receipt["report"]["edits"][0]["warnings"]
    [warning] = [text for text in warnings if "no name is known" in text]
    assert f"of the relations {wikibase}/prop/direct/P2," in warning
