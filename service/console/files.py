"""Files: corrections, facts or things by the line, tried before they go live; and every active edit as a file.

The text of a file travels in the form, so a bad line is mended on the page, and a session that ends loses nothing.
"""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
import json
import uuid
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePath
from tempfile import TemporaryFile
from typing import Any

from errata.bulk.records import make_rows
from errata.bulk.run import FileRun
from errata.calls import Calls
from errata.errors import BadFile, ErrataError, Refused
from errata.problems import from_problem
from errata.request import Call, Reply
from errata.tables.delimiter import MAX_HEADER_BYTES, find_delimiter, list_headings, split_rows
from errata.tables.limits import MAX_CHARS, MAX_LINES, MAX_SECONDS
from errata.tables.workbook import WorkbookError
from errata.tables.writer import format_table
from errata.wire import ActiveEditList, ImportReceipt, Problem
from fastapi import APIRouter, Response

from service.console.correcting import REFUSALS, STALE, read_news
from service.console.pages import ConsolePage, Page, Upload, read_count, read_number, redirect
from service.console.session import PATH, Form
from service.console.worklist import drop_lines, read_gaps, read_lines, take_out
from service.errors import InvalidInput
from service.extraction.process import AT_ONCE, read_rows
from service.local_routes import JSON, KeyNeeded, LocalRoutes, RouteRefusal

FILES = f"{PATH}/files"
FIELDS = ("name", "text", "subject", "sheet", "message")
MAX_MENDED = 50  # faulty lines that a page has in fields
WORKBOOKS, TEXTS = (".xlsx", ".xlsm"), (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
TABLES = {".csv": "text/csv", ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}
EDIT_COLUMNS = {
    "question",
    "wording",
    "define",
    "relation",
}  # a table with one of these has a correction or fact a line
QUESTIONS = "worklist.csv"  # name of a table of questions without answers
NO_TICK = "No such line waits any more: tick lines of the worklist first."
NO_FILE = "Choose a file: a table (.csv, .tsv, .xlsx) or JSON (.json, .jsonl)."
WINDOWS = "{} was read as Windows-1252, since it is not UTF-8: look at the letters beyond a to z."
NOT_TEXT = "{} is not UTF-8: save it as CSV in UTF-8, or as a workbook (.xlsx)."
MARKS = ("?", "？", "؟")  # what the text of a question ends with
NO_HEADINGS = (
    "The first line of {} is a question. Write the names of the columns above it, as in question{}answer."
)
QUESTION_HEADING = (
    "{} has questions in its column {!r}, and a name is expected where things have their facts in columns. "
    "The columns are called {}: call them question and answer, as below; or say which column has the names of things."
)
NEW_SESSION = "Choose {} again: a workbook does not outlive a session."
NO_VERSION = "expected: the version of the trial is a number: try the file again"
TOO_MANY_MENDED = "A page has {:,} lines in fields: mend the others in the whole text."
TOO_LONG = "A page takes {:,} lines and {:,} characters: divide the file, or send it by errata edit --file."


def build_router() -> APIRouter:
    router, turns = APIRouter(), asyncio.Semaphore(AT_ONCE)

    @router.get(FILES)
    async def show(page: ConsolePage, lines: str = "", first: str = "", last: str = "") -> Response:
        """Show the form, after a commit with the versions that it made."""
        numbers = [read_count(text) for text in (lines, first, last)]
        return await _render(page, {}, made=numbers if all(numbers) else ())

    router.add_api_route(f"{FILES}/edits{{suffix}}", export)
    router.add_api_route(f"{FILES}/worklist", list_questions, methods=["POST"])

    @router.post(FILES)
    async def send(page: ConsolePage) -> Response:
        """Try the lines of a file, or commit them after their trial."""
        form = await page.read_form(_keep_text)
        try:
            await page.check("edit")
            await _complete(form, page.upload, turns)
            if form.get("do") == "commit" and form.get("trial") == _digest(form):
                return redirect(await _commit(page, form))
            return await _try(page, form)
        except BadFile as error:
            return await _render(page, form, 422, mistakes=[str(error), *error.lines])
        except (RouteRefusal, ErrataError) as error:
            refusal = _to_refusal(error)
            if refusal.code == STALE:
                return await _try(page, form, 409, await read_news(page, form.get("expected", "")))
            if refusal.status not in REFUSALS:
                raise refusal from error
            return await _render(page, form, refusal.status, mistakes=page.describe(refusal))

    return router


async def export(page: ConsolePage, suffix: str) -> Response:
    if suffix not in TABLES:
        raise RouteRefusal(404, {"code": "not_found", "detail": f"It is there as {', '.join(TABLES)}."})
    edits = ActiveEditList.model_validate(await page.api.get("/admin/edits"))
    try:
        content = await asyncio.to_thread(lambda: format_table(suffix, *make_rows(edits)))
    except ValueError as error:
        raise RouteRefusal(422, {"code": "bad_file", "detail": str(error)}) from error
    name = f"errata-edits-{edits.version}{suffix}"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=TABLES[suffix], headers=headers)


async def list_questions(page: ConsolePage) -> Response:
    """Show the ticked lines of the worklist as a table to be filled in, or drop them."""
    form = await page.read_form()
    if form.get("do") == "drop":
        return await drop_lines(page, form)
    lines = read_lines(form)
    rows = [(gap["question"], "") for gap in await read_gaps(page) if gap["line"] in lines]
    if not rows:
        return await _render(page, {}, 422, mistakes=[NO_TICK])
    text = format_table(".csv", ("question", "answer"), rows).decode("utf-8-sig")
    return await _render(page, {"name": QUESTIONS, "text": text.replace("\r\n", "\n").rstrip()})


def _keep_text(form: Form, upload: Upload | None) -> None:
    """Put the text of a file into its form; a workbook is not opened yet."""
    if upload is None:
        return
    name = _name_of(upload)
    form |= {"name": name, "text": ""}
    suffix = PurePath(name).suffix.lower()
    try:
        if suffix in WORKBOOKS:
            form["fault"] = NEW_SESSION.format(name)
        elif suffix in TEXTS:
            text = decode(form, upload[1], suffix)
            form["text"] = text.replace("\r\n", "\n").replace("\r", "\n").strip()
        else:
            form["fault"] = NO_FILE
    except UnicodeDecodeError:
        form["fault"] = NOT_TEXT.format(name)


def _name_of(upload: Upload) -> str:
    return PurePath(upload[0].replace("\\", "/")).name


async def _complete(form: Form, upload: Upload | None, turns: asyncio.Semaphore) -> None:
    """Put the rows of a workbook into its form, or the lines that were mended in their fields.

    Raises:
        BadFile: The file cannot be read, or is too long for a page.
    """
    if upload and PurePath(_name_of(upload)).suffix.lower() in WORKBOOKS:
        del form["fault"]
        try:
            async with turns:
                text = await asyncio.to_thread(_write_sheet, upload[1], form.get("sheet", ""))
        except WorkbookError as error:
            raise BadFile(f"{form['name']}: {error}") from error
        form |= {"name": f"{form['name']}.csv", "text": text}
    if form.get("fault") or not form.get("text"):
        raise BadFile(form.get("fault") or NO_FILE)
    if len(form["text"]) > MAX_CHARS:
        raise BadFile(TOO_LONG.format(MAX_LINES, MAX_CHARS))
    await asyncio.to_thread(_mend_lines, form)


def _mend_lines(form: Form) -> None:
    """Put the lines that were mended in their fields into the text, each at its number or else where it stands."""
    old_lines = {name[4:]: form.pop(name) for name in [*form] if name.startswith("was.")}
    if len(old_lines) > MAX_MENDED:
        raise BadFile(TOO_MANY_MENDED.format(MAX_MENDED))
    lines = form["text"].split("\n")
    places: dict[str, list[int]] = {line: [] for line in old_lines.values()}
    for place, text in enumerate(map(str.strip, lines)):
        if text in places and len(places[text]) < MAX_MENDED:
            places[text].append(place)
    for number, line in old_lines.items():
        new_line = form.pop(f"line.{number}", line)
        candidates = [read_count(number) - 1, *places[line]]
        where = next((p for p in candidates if 0 <= p < len(lines) and lines[p].strip() == line), None)
        if where is not None and new_line != line:  # otherwise it was mended in the whole text, or not at all
            lines[where] = new_line
    form["text"] = "\n".join(lines)


def decode(form: Form, data: bytes, suffix: str) -> str:
    """Return the text of a file; a table that is not UTF-8 is read as Excel saves it, and the form says so."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        if suffix not in (".csv", ".tsv"):
            raise
        text = data.decode("cp1252")
        form["note"] = WINDOWS.format(form["name"])
        return text


def _write_sheet(data: bytes, sheet: str) -> str:
    """Return the rows of a workbook as CSV, each on the line that it has there; raise BadFile if they are too long."""
    text, writer_line = io.StringIO(newline=""), 1
    writer = csv.writer(text, lineterminator="\n")
    with TemporaryFile() as workbook:
        workbook.write(data)
        for number, cells in read_rows(workbook, sheet, MAX_SECONDS):
            if text.tell() + number - writer_line > MAX_CHARS:
                raise BadFile(TOO_LONG.format(MAX_LINES, MAX_CHARS))
            text.write("\n" * (number - writer_line))
            writer.writerow(cells)
            writer_line = max(writer_line, number) + 1
    return text.getvalue().strip()


def _check_headings(form: Form) -> None:
    """Check that no column of a table with a thing a line has questions.

    Raises:
        BadFile: It has, so the headings of a table of corrections are missing or unknown.
    """
    headings = _list_headings(form)
    n_cells, n_marked = (
        Counter[int](),
        Counter[int](),
    )  # by column: cells with a text, and those with a question
    with suppress(csv.Error):  # the import says where
        for _, row in split_rows(form["text"]):
            for place, cell in enumerate(map(str.strip, row[: len(headings)])):
                n_cells[place] += bool(cell)
                n_marked[place] += cell.endswith(MARKS)
    for place, heading in enumerate(headings):
        n_questions = n_marked[place]
        if heading.strip().endswith(MARKS) and 2 * n_questions >= n_cells[place]:
            raise BadFile(NO_HEADINGS.format(form["name"], find_delimiter(form["text"])))
        if n_questions and 2 * n_questions >= n_cells[place] - 1:
            names = ", ".join(map(repr, headings))
            raise BadFile(QUESTION_HEADING.format(form["name"], heading, names))


def _is_of_edits(form: Form) -> bool:
    """Return whether each line is a correction or a fact, and not a thing with its facts in columns."""
    headings = {heading.strip().lower() for heading in _list_headings(form)}
    return ".json" in form["name"] or bool(headings & EDIT_COLUMNS)


def _list_headings(form: Form) -> list[str]:
    return list_headings(form["text"][:MAX_HEADER_BYTES])


async def _try(page: Page, form: Form, status: int = 200, news: Any = ()) -> Response:
    head = (await page.api.get("/admin/versions", {"limit": 1}))["head"]
    values: dict[str, Any]
    if _is_of_edits(form):
        run = await _run(page, form, dry_run=True, idempotency_key=uuid.uuid4().hex)
        reports = [receipt.report.model_dump(mode="json") for receipt in run.receipts]
        values = {"lines": run.lines, "reports": reports}
    else:
        if not form.get("subject"):
            await asyncio.to_thread(_check_headings, form)
        form["subject"] = form.get("subject") or next(iter(_list_headings(form)), "")
        reply = await _import(page, form, dry_run="true")
        receipt = ImportReceipt.model_validate(reply).model_dump(mode="json")
        values = {"counts": receipt["counts"], "reports": [receipt["report"]]}
    trial = {"expected": head, "once": uuid.uuid4().hex, "trial": _digest(form), "news": news}
    return await _render(page, form, status, **values, **trial, bad_lines=_list_faults(form, values))


def _list_faults(form: Form, values: Mapping[str, Any]) -> list[tuple[int, str, str | None]]:
    """Return the number, the reason and the text of each line that cannot be used; the text of the first ones."""
    texts = form["text"].split("\n")
    refused = [(line.number, line.detail) for line in values.get("lines", ()) if line.status == "refused"]
    refused += [(line["line"], line["reason"]) for line in values.get("counts", {}).get("rejected_lines", ())]
    first = dict(sorted(refused)[:MAX_MENDED]).keys() & range(1, len(texts) + 1)
    return [(number, reason, texts[number - 1] if number in first else None) for number, reason in refused]


async def _commit(page: Page, form: Form) -> str:
    """Make the good lines live, and return the address of the page that tells of it."""
    expected = read_number(form.get("expected") or "0")
    if isinstance(expected, str):
        raise RouteRefusal(422, {"code": InvalidInput.code, "detail": NO_VERSION})
    if _is_of_edits(form):
        run = await _run(page, form, expected_version=expected, idempotency_key=form.get("once"), again=True)
        await take_out(page, {line.question for line in run.lines if line.status == "done"})
        versions = run.versions
        if len(versions) > 1:
            return f"{FILES}?lines={run.count('done')}&first={versions[0]}&last={versions[-1]}"
    else:
        receipt = await _import(page, form, form.get("once"), expected_version=expected)
        versions = [receipt["version"]] if receipt["version"] else []
    return f"{PATH}/versions/{versions[0]}?fresh=1" if versions else f"{PATH}/history"


async def _run(page: Page, form: Form, **options: Any) -> FileRun:
    options |= {"skip_bad": True, "message": form.get("message", ""), "max_lines": MAX_LINES}
    run = await asyncio.to_thread(FileRun, form["name"], form["text"].encode(), **options)

    async def send(call: Call[Any]) -> Reply[Any]:
        body = None if call.body is None else call.body.model_dump(mode="json", exclude_defaults=True)
        try:
            value = await _send(
                page.api, call.verb, call.path, call.idempotency_key, json=body, params=call.parameters
            )
        except KeyNeeded:
            raise
        except RouteRefusal as refusal:
            raise from_problem(Problem.model_validate(refusal.problem)) from refusal
        return Reply(call.returns.model_validate(value), b"", 200)

    await run.go(Calls(), send, None, None)
    return run


async def _import(page: Page, form: Form, key: str | None = None, **options: Any) -> JSON:
    query = {"source": form["name"][-200:], "subject": form["subject"], "message": form.get("message", "")}
    return await _send(
        page.api, "POST", "/admin/graph/import", key, params=query | options, content=form["text"].encode()
    )


async def _send(api: LocalRoutes, verb: str, path: str, key: str | None, **content: Any) -> JSON:
    return await api.call(verb, path, {} if key is None else {"idempotency-key": key}, **content)


def _to_refusal(error: RouteRefusal | ErrataError) -> RouteRefusal:
    """Return the refusal of a route behind an error of a run."""
    if isinstance(error, RouteRefusal):
        return error
    if isinstance(error, Refused):
        return RouteRefusal(error.problem.status, error.problem.model_dump(mode="json"))
    return RouteRefusal(422, {"code": "bad_file", "detail": str(error)})


def _digest(form: Form) -> str:
    return hashlib.sha256(json.dumps([form.get(name, "") for name in FIELDS]).encode()).hexdigest()


async def _render(page: Page, form: Form, status: int = 200, **values: Any) -> Response:
    fields = {name: form.get(name, "") for name in FIELDS}
    is_table = bool(fields["text"]) and not _is_of_edits(fields)
    defaults: dict[str, Any] = {
        **{
            "mistakes": [],
            "lines": [],
            "counts": None,
            "reports": [],
            "news": (),
            "made": (),
            "bad_lines": (),
        },
        "note": form.get("note", ""),
        **{"expected": None, "once": "", "trial": "", "is_table": is_table},
        "is_worklist": fields["name"] == QUESTIONS,
    }
    return await page.render("files.html", {**defaults, **values, "form": fields}, status)
