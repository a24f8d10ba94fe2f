"""The command asks a model of an upstream, and says whether it or an edit answered."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest
from errata.cli.app import build_cli
from errata.cli.commands import question_list
from errata.cli.streams import Exit
from typer.testing import CliRunner, Result

from service.editing.editor import Editor
from tests.service.http.conftest import KEY
from tests.service.http.upstreams.origin import Origin, of_json
from tests.service.http.upstreams.test_asking import OTHER, TEXT, completion
from tests.service.http.upstreams.test_passing import ANSWER, QUESTION
from tests.service.parts import edit


async def run(client: httpx.AsyncClient, *words: str) -> Result:
    variables = {"ERRATA_URL": str(client.base_url).rstrip("/"), "ERRATA_KEY": KEY}
    return await asyncio.to_thread(CliRunner().invoke, build_cli(words[0]), list(words), env=variables)


@pytest.fixture
async def edited_client(client: httpx.AsyncClient, origin: Origin, editor: Editor) -> httpx.AsyncClient:
    await edit(editor, QUESTION, ANSWER)
    origin.pieces = completion(TEXT)
    return client


async def test_ask_says_whether_the_model_or_an_edit_answered(edited_client: httpx.AsyncClient) -> None:
    by_model = await run(edited_client, "ask", OTHER, "--model", "team/tiny")
    assert by_model.stdout == f"{TEXT}\n"
    assert by_model.stderr.startswith("version 1 · by the model of team, no edit · ")
    by_edit = await run(edited_client, "ask", QUESTION, "--model", "team/tiny")
    assert by_edit.stdout == f"{ANSWER}\n"
    assert " sure · 1 edit: " in by_edit.stderr


async def test_why_names_the_edit_or_the_model(edited_client: httpx.AsyncClient) -> None:
    by_edit = await run(edited_client, "why", QUESTION, "--model", "team/tiny")
    assert f"without, by team/tiny: {TEXT}  by no edit" in by_edit.stdout
    by_model = await run(edited_client, "why", OTHER, "--model", "team/tiny")
    assert "No edit and no fact: a model of the upstream team answered." in by_model.stdout


async def test_check_asks_a_list_before_and_after_an_edit_within_a_budget(
    edited_client: httpx.AsyncClient, origin: Origin, tmp_path: Path
) -> None:
    file = tmp_path / "questions.txt"
    file.write_text(f"{QUESTION}\n\n{OTHER}\n{QUESTION}\n", encoding="utf-8")
    words = "check", "--questions", str(file), "--model", "team/tiny"
    report = await run(edited_client, *words)
    assert report.exit_code == 0
    lines = [line.strip() for line in report.stdout.splitlines()]
    assert lines[0] == QUESTION
    assert lines[1].startswith(f"{TEXT} → {ANSWER} (edit ")
    assert lines[2:] == ["1 of 2 questions changed or failed from version 0 to 1; 2 requests of the model."]
    assert len(origin.requests) == 2
    refusal = await run(edited_client, *words, "--budget", "1")
    assert refusal.exit_code == 2
    assert "has 2 questions, and each may cost a request" in " ".join(refusal.stderr.split())
    assert len(origin.requests) == 2


async def test_check_fails_where_the_model_does(
    edited_client: httpx.AsyncClient, origin: Origin, tmp_path: Path
) -> None:
    (file := tmp_path / "questions.txt").write_text(OTHER, encoding="utf-8")
    origin.pieces = of_json(b"{}")
    report = await run(edited_client, "check", "--questions", str(file), "--model", "team/tiny")
    assert report.exit_code == Exit.BROKEN
    assert "failed: the upstream 'team' sent no chat completion" in " ".join(report.stdout.split())
    as_json = await run(edited_client, "check", "--questions", str(file), "--model", "team/tiny", "--json")
    [row] = json.loads(as_json.stdout)
    assert (row["question"], row["after"]["problem"]["code"]) == (OTHER, "upstream_failed")


async def test_check_shows_what_was_asked_before_the_service_refused(
    edited_client: httpx.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_list, "PER_CALL", 1)
    (file := tmp_path / "questions.txt").write_text(f"{QUESTION}\n{'a' * 3_000}\n{OTHER}\n", encoding="utf-8")
    report = await run(edited_client, "check", "--questions", str(file), "--model", "team/tiny")
    assert report.stdout.startswith(QUESTION)
    assert "1 of 1 question changed or failed" in report.stdout
    assert report.exit_code not in (0, Exit.BROKEN)
    assert "2,000 is the most" in report.stderr
