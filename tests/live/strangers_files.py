"""Forms, files and bodies up to each limit and a little beyond, as strangers send them; none is large for long."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import NamedTuple

from tests.service.extraction.pdfs import write_bomb, write_pdf
from tests.workbooks import replace_part, share_texts, workbook

SHEET, SHARED = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
PLAIN = workbook([["question", "answer"], ["who?", "Ada"]])
FORM, PARTS, JSON = "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "application/json"
NOISE = Random(0).randbytes(300_000).hex().encode()  # it makes a packed file large
TOKEN = "a-token-of-a-form"
MCP = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}


class Sending(NamedTuple):
    path: str
    media_type: str
    body: bytes
    verb: str = "POST"


def upload(name: str, content: bytes, **fields: str) -> Sending:
    """Send a file to the console."""
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
        for field, value in {"token": TOKEN, "do": "try", **fields}.items()
    ]
    head = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    return Sending("/console/files", PARTS, "".join([*parts, head]).encode() + content + b"\r\n--b--\r\n")


def form(path: str, body: bytes) -> Sending:
    return Sending(f"/console/{path}", FORM, f"token={TOKEN}&".encode() + body)


def load(content: bytes, **query: str) -> Sending:
    """Import a file, as a trial."""
    words = "&".join(f"{name}={value}" for name, value in {"dry_run": "true", **query}.items())
    return Sending(f"/admin/graph/import?{words}", "application/octet-stream", content)


def put(media_type: str, content: bytes) -> Sending:
    return Sending("/v1/documents/strange?dry_run=true", media_type, content, "PUT")


def post(path: str, content: object) -> Sending:
    return Sending(path, JSON, json.dumps(content).encode())


def change(new: bytes, old: bytes = b"</sheetData>", part: str = SHEET, content: bytes = PLAIN) -> bytes:
    return replace_part(content, part, old, new)


@cache
def far() -> bytes:
    return change(b'r="XFD1048576"', b'r="A2"')


@cache
def rows() -> bytes:
    return change(b"<row/>" * 300_000 + b"</sheetData>")


@cache
def texts() -> bytes:
    return change(b"<si/>" * 300_000 + b"</sst>", b"</sst>", SHARED, share_texts(PLAIN))


def archive(size: int, content: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        member = tarfile.TarInfo("head.json")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    return file.getvalue().replace(f"{len(content):011o}".encode(), f"{size:011o}".encode())


def fields(n: int) -> bytes:
    return b"&".join(b"f%d=1" % number for number in range(n))


def corrections() -> bytes:
    text = b"%0A".join(b"line%d" % number for number in range(100_000))
    return b"do=try&name=a.csv&text=" + text + b"".join(b"&was.%d=x%d" % (n, n) for n in range(190))


QUESTIONS = [{"question": f"q{n}?", "answer": "a"} for n in range(1_000)]
BOOKS: dict[str, Callable[[], bytes]] = {
    "a far cell": far,
    "a claimed size": lambda: change(b'<dimension ref="A1:XFD1048576" x=', b"<dimension ref="),
    "empty rows": rows,
    "shared texts": texts,
    "elements of a row": lambda: change(b"<c/>" * 250_000 + b"</row>", b"</row>"),
    "wide rows": lambda: change(
        b"".join(b'<row><c r="XFD%d"><v>1</v></c></row>' % n for n in range(3, 700)) + b"</sheetData>"
    ),
    "styles": lambda: change(NOISE + b" " * 20_000_000, b"</styleSheet>", "xl/styles.xml"),
    "zeros": lambda: change(bytes(40_000_000)),
}
TEXTS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "an open quote": ("csv", lambda: b'question,answer\n"' + b"x,\n" * 300_000),
    "empty lines": ("csv", lambda: b"question,answer" + b"\n" * 900_000 + b"q?,a"),
    "columns": ("csv", lambda: b"," * 400_000 + b"\n" + b"a?,b\n" * 100_000),
    "lines": ("tsv", lambda: b"question\tanswer\n" + b"".join(b"q%d?\ta\n" % n for n in range(2_001))),
    "empty objects": ("json", lambda: b"[" + b"{}," * 300_000 + b"{}]"),
    "nested lists": ("json", lambda: b"[" * 900_000),
    "objects a line": ("jsonl", lambda: b'{"question": "q?"}\n' * 2_000),
}


def generate() -> Iterator[tuple[str, Callable[[], Sending]]]:
    """Yield the name of each generator, and what makes its form or file."""
    yield "sign-in: escapes", lambda: form("sign-in", b"key=" + b"%41" * 1_300_000)
    yield "sign-in: percent signs", lambda: form("sign-in", b"key=" + b"%" * 4_000_000)
    yield "sign-in: fields", lambda: form("sign-in", fields(190))
    yield "sign-in: too many fields", lambda: form("sign-in", fields(300_000))
    yield (
        "sign-in: another charset",
        lambda: Sending("/console/sign-in", f"{PARTS}; charset=punycode", upload("a", b"a" * 400_000).body),
    )
    yield "form: line ends", lambda: upload("a.csv", b"question,answer\n" + b"\r" * 3_900_000)
    yield "form: corrections lines", lambda: form("files", corrections())
    yield (
        "form: wordings",
        lambda: form("correct", b"question=q&answer=a&do=try&wordings=" + b"a%0A" * 900_000),
    )
    yield "form: ticks", lambda: form("worklist/drop", b"lines=" + b"9+" * 1_900_000)
    for title, make in BOOKS.items():
        yield f"form: workbook, {title}", lambda make=make: upload("a.xlsx", make())  # type: ignore[misc]
        yield f"import: workbook, {title}", lambda make=make: load(make(), subject="question")  # type: ignore[misc]
    for title, (suffix, write) in TEXTS.items():
        yield f"form: {suffix}, {title}", lambda s=suffix, w=write: upload(f"a.{s}", w())  # type: ignore[misc]
    yield "import: csv, columns", lambda: load(TEXTS["columns"][1](), format="csv", subject="x")
    yield "import: csv, an open quote", lambda: load(TEXTS["an open quote"][1](), subject="question")
    yield "import: tsv, long names", lambda: load(b"a\tb\t" + b"c" * 900_000 + b"\n", format="tsv")
    yield "import: nt, a long line", lambda: load(b"<a:b> <a:c> <" + b"d" * 2_000_000 + b"> .\n", format="nt")
    yield "import: nt, faults", lambda: load(b"<a:b> <\n" * 200_000, format="nt")
    yield "import: json, nested", lambda: load(b'{"id": ' + b"[" * 900_000, format="wikidata")
    yield "import: gzip of zeros", lambda: load(gzip.compress(bytes(150_000_000)), format="csv")
    yield "document: text", lambda: put("text/plain", b"a " * 1_999_000)
    yield "document: json of escapes", lambda: put(JSON, b'{"text": "' + rb"\u0041" * 1_000_000 + b'"}')
    yield "document: html, nested", lambda: put("text/html", b"<div>" * 200_000)
    yield "document: html, a wide table", lambda: put("text/html", b"<table><tr>" + b"<td>a" * 20_000)
    yield "document: pdf, bomb", lambda: put("application/pdf", write_bomb(40_000_000))
    yield "document: pdf, pages", lambda: put("application/pdf", write_pdf(*["a"] * 300))
    yield "edits: a thousand", lambda: post("/admin/edits", {"edits": QUESTIONS, "dry_run": True})
    yield "edits: unknown fields", lambda: post("/admin/edits", dict.fromkeys(map(str, range(1_000_000)), 1))
    yield "proposal: wordings", lambda: post("/admin/proposals", {"edits": QUESTIONS})
    yield "ask: unknown fields", lambda: post("/v1/answers", dict.fromkeys(map(str, range(70_000)), 1))
    yield "chat: messages", lambda: post("/v1/chat/completions", {"model": "nkb", "messages": [1] * 100_000})
    yield "mcp: nested", lambda: Sending("/mcp", JSON, b"[" * 999_000)
    yield (
        "mcp: a question",
        lambda: post("/mcp", {**MCP, "params": {"name": "ask", "arguments": {"question": "q" * 900_000}}}),
    )
    yield (
        "mcp: half a character",
        lambda: post("/mcp", {**MCP, "params": {"name": "ask", "arguments": {"question": "\ud800"}}}),
    )
    yield "restore: tar, noise", lambda: Sending("/admin/import", "application/x-tar", archive(9, NOISE))
    yield (
        "restore: tar, a claimed size",
        lambda: Sending("/admin/import", "application/x-tar", archive(8**11 - 1, b"{}")),
    )
