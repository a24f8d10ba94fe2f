"""Show that the service replies over HTTP as it did: receipts, reports, differences, explanations, checks and errors.

`python -m tests.witness.http write|compare`. Two hundred calls to an application in this process, which serves toys,
are in data/http.json.gz. Times, durations and digests are left out, and each id stands as its number.
"""

import argparse
import asyncio
import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from service.access.api_keys import fingerprint
from service.editing.editor import Editor
from tests.service.conftest import start_valkey
from tests.service.http.conftest import ADMIN, KEY, client_of, serve
from tests.service.parts import settings, start_deployment
from tests.service.toy_graph import TOYS
from tests.witness.__main__ import FOLDER, differences

SYSTEMS = TOYS | {"parrot": "tests.service.toy_rules:load_parrot", "docs": "tests.service.toy_documents:load"}
FILE = FOLDER / "http.json.gz"
VOLATILE = re.compile(
    r".*(_ms|_at|checksum|digest|time|since|expires|last|seconds|_s)$|checksums|timings|request_id|replicas?|sha256.*"
)
ID = re.compile(r"\b[0-9a-f]{12}\b")
PERU, CHILE, HAMLET = (
    f"{text}?" for text in ("What is the capital of Peru", "capital of Chile", "Who wrote Hamlet")
)
TABLE = b"subject,relation,object\nOz,capital,Emerald City\nOz,shares_border_with,Ev\nPeru,currency,inti\n"
HOLDS = {"define": "twinned_with", "holds": "many", "label": "twin town"}

Call = tuple[str, str, Any]


def fix(question: str, answer: str, **fields: Any) -> dict[str, Any]:
    return {"question": question, "answer": answer, "model": "toy", **fields}


def fact(subject: str, relation: str, object: str, **fields: Any) -> dict[str, Any]:
    return {"subject": subject, "relation": relation, "object": object, **fields}


def rule(word: str, **fields: Any) -> dict[str, Any]:
    return {"memory": "parrot/rules", "kind": "rule", "change": {"word": word}, **fields}


REQUESTS: list[dict[str, Any]] = [
    {"edits": [fix(PERU, "Cusco", paraphrases=["Peru's capital?"], counterexamples=["capital of Bolivia?"])]},
    {"edits": [fix(PERU, "Cusco")]},
    {"edits": [fix(PERU, "Cusco", paraphrases=["The capital of Peru?"], tests=[{"question": HAMLET}])]},
    {"edits": [fix(PERU, "Arequipa", replaces=[1])], "message": "moved"},
    {"edits": [fix(PERU, "Ica", replaces=[1])]},
    {"edits": [fix(PERU, "Ica", replaces=[999])]},
    {"edits": [fix(PERU, "Ica")], "strict": True},
    {
        "edits": [
            fix(HAMLET, "Bacon", tests=[{"question": CHILE, "answer": "Lima"}]),
            fix(CHILE, "Valparaíso"),
        ]
    },
    {"edits": [fix(HAMLET, "Kyd"), fix(HAMLET, "Marlowe")]},
    {"edits": [fix(HAMLET, "Kyd"), fix(HAMLET, "Marlowe"), fix(CHILE, "x" * 300)], "skip_refused": True},
    {"edits": [fix(HAMLET, "unreachable"), fix(CHILE, "x" * 300)]},
    {
        "edits": [fix("Who sang?", "Ada"), fix("who sang", "Ada"), fix("Who sings?", "unreachable")],
        "skip_refused": True,
    },
    {"edits": [fix(CHILE, "Arica", paraphrases=[PERU])], "method": "surgery"},
    {"edits": [fix(CHILE, "Arica")], "method": "magic"},
    {"edits": [fix(CHILE, "Iquique")], "options": {"repeat": 2}},
    {"edits": [fix(CHILE, "Iquique")], "options": {"colour": "red"}},
    {"edits": [fix("What is the capital of Peru?", "Puno", model="atlas")]},
    {"edits": [fix("Who?", "Ada", model="nobody")]},
    {"edits": [fact("Peru", "capital", "Tacna")]},
    {"edits": [fact("Peru", "capital", "Tacna")]},
    {"edits": [fact("Peru", "capital", "Tacna", act="remove")]},
    {"edits": [fact("Peru", "capital", "Quito", act="remove")]},
    {
        "edits": [
            fact("Chile", "neighbour", "Bolivia"),
            fact("Chile", "shares_border_with", "Argentina", act="add"),
        ]
    },
    {"edits": [fact("Chile", "currency", "peso"), fact("Chile", "currency", "escudo")], "skip_refused": True},
    {"edits": [fact("Chile", "currency", "peso"), fact("Chile", "currency", "escudo")]},
    {"edits": [fact("Peruu", "capital", "Lima")]},
    {"edits": [fact("Peruu", "capital", "Lima", create=True, only="graph")]},
    {"edits": [fact("Peru", "label", "Perú"), fact("Perú", "alias", "Inca land")]},
    {"edits": [fact("Chile", "twinned_with", "Peru")]},
    {"edits": [HOLDS, fact("Chile", "twinned_with", "France")]},
    {"edits": [HOLDS]},
    {"edits": [HOLDS, {"define": "twinned_with", "holds": "one"}]},
    {
        "edits": [
            fact("France", "capital", "Lyon", begin="1990", end="1995"),
            fix("What is the capital of France?", "Metz"),
        ]
    },
    {
        "edits": [fact("Q142", "capital", "Nice", act="set"), fact("Q999", "capital", "Oz")],
        "skip_refused": True,
    },
    {"edits": [rule("hello", question="Say hello", answer="hi"), rule("goodbye")]},
    {"edits": [rule("goodbye")], "skip_refused": True},
    {"edits": [rule("two words")]},
    {"edits": [rule("say")]},
    {"edits": [{"memory": "parrot/rules", "kind": "law", "change": {}}]},
    {"edits": [{"memory": "nothing", "kind": "rule", "change": {}}, fix(PERU, "Ica")], "skip_refused": True},
    {"edits": [fix("Who is first?", "Ada")], "expected_version": 1},
    {"edits": [fix("Who is first?", "Ada")], "review": "2000-01-01"},
    {"edits": [fix("Who is first?", "Ada")], "colour": "red"},
    {"edits": []},
]
UNDO: list[Call] = [
    *(("POST", "/admin/reverts", {"version": version}) for version in (1, 3, 5, 1, 77)),
    ("POST", "/admin/reverts", {"version": 6, "dry_run": True}),
    ("POST", "/admin/reverts", {"edits": ["0" * 12]}),
    ("POST", "/admin/reverts", {}),
    *(("POST", "/admin/rollbacks", {"to": to, "strict": to == 2}) for to in (4, 4, 2, 0, 999)),
]
DOCUMENT = "/v1/documents/letter"
DOCUMENTS: list[Call] = [
    ("PUT", DOCUMENT, {"text": "Ada writes to Bo. Bo lives in Lund."}),
    ("PUT", DOCUMENT, {"text": "Ada writes to Bo. Bo lives in Oslo."}),
    ("GET", DOCUMENT, None),
    ("DELETE", DOCUMENT, None),
    ("DELETE", DOCUMENT, None),
]
PROPOSALS: list[Call] = [
    ("POST", "/admin/proposals", {"edits": [fix("Who runs the mill?", "Ada")], "message": "Bo left"}),
    (
        "POST",
        "/admin/proposals",
        {"edits": [fix("Who runs the mill?", "Cy"), fix("Who runs it?", "unreachable")]},
    ),
    ("GET", "/admin/proposals", None),
    ("GET", "/admin/proposals/2", None),
    ("POST", "/admin/proposals/2/approval", {}),
    ("POST", "/admin/proposals/2/rejection", {"reason": "no"}),
    ("POST", "/admin/proposals/1/approval", {}),
    ("POST", "/admin/proposals/1/approval", {}),
]
QUESTIONS = (
    PERU,
    CHILE,
    HAMLET,
    "Who sang?",
    "Say hello",
    "Say goodbye",
    "What is the currency of Chile?",
    "",
)


def reads(version: int) -> Iterator[Call]:
    """Yield what a curator reads of a version, and what it answers."""
    for path in ("edits", "reviews", "hits", "versions", "tags", "graph/relations"):
        yield "GET", f"/admin/{path}", None
    for path in ("/v1/memory", "/v1/models", "/v1/documents", "/v1/entities?name=Peru", "/v1/entities/Q419"):
        yield "GET", path, None
    yield "POST", "/admin/checks", {}
    for number in (version, version - 1, 9_999):
        yield "GET", f"/admin/versions/{number}?wait_report=true", None
    for older in (0, version // 2, version - 1):
        yield "GET", f"/admin/diff?from={older}", None
        yield "GET", f"/admin/diff?from={older}&to={version - 1}", None
    for question in QUESTIONS:
        for path in ("/v1/answers", "/admin/why", "/admin/scope"):
            yield "GET", str(httpx.URL(path, params={"question": question})), None


async def make_calls(client: httpx.AsyncClient) -> dict[str, Any]:
    """Make the calls in order, and return each with its reply."""
    names: dict[str, str] = {}
    replies: dict[str, Any] = {}

    async def call(method: str, path: str, body: Any = None, **content: Any) -> None:
        reply = await client.request(method, path, json=body, **content)
        value = trim(reply.json(), names) if reply.content else ""
        request = json.dumps(body, ensure_ascii=False)[:200] if body is not None else ""
        replies[f"{len(replies):03} {method} {path} {request}"] = {"status": reply.status_code, "body": value}

    async def read() -> None:
        page = await client.get("/admin/versions")
        for step in reads(page.json()["head"]):
            await call(*step)

    for request in REQUESTS:
        if request.get("edits"):
            await call("POST", "/admin/edits", {**request, "dry_run": True, "measure": False})
            await call("POST", "/admin/edits", {**request, "dry_run": True})
        await call("POST", "/admin/edits", {**request, "wait_report": True})
    await call("POST", "/admin/graph/import?format=csv", None, content=TABLE)
    await read()
    for method, path, body in (*DOCUMENTS, *PROPOSALS, *UNDO):
        is_undo = path.startswith(("/admin/reverts", "/admin/rollbacks"))
        await call(method, path, {**body, "wait_report": True} if is_undo else body)
    await read()
    return replies


def trim(value: Any, names: dict[str, str]) -> Any:
    """Return a reply without what differs from run to run, and with a number for each id."""
    if isinstance(value, dict):
        return {name: trim(part, names) for name, part in value.items() if not VOLATILE.fullmatch(name)}
    if isinstance(value, list):
        return [trim(part, names) for part in value]
    if isinstance(value, str):
        return ID.sub(lambda match: names.setdefault(match[0], f"id{len(names)}"), value)
    return value


async def witness() -> dict[str, Any]:
    """Serve the toys, and return the replies by call."""
    with start_valkey() as server, TemporaryDirectory() as folder:
        config = settings(server.url, Path(folder), systems=SYSTEMS, admin_key_sha256=fingerprint(KEY))
        async with (
            start_deployment(Editor, config) as editor,
            serve(config, editor) as app,
            client_of(app) as client,
        ):
            client.headers.update(ADMIN)
            return await make_calls(client)


def main() -> int:
    """Write or compare, and return 1 if anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.witness.http", description=__doc__)
    parser.add_argument("action", choices=("write", "compare"))
    action = parser.parse_args().action
    content = asyncio.run(witness())
    if action == "write":
        text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
    places = sorted(differences(json.loads(gzip.decompress(FILE.read_bytes())), content))
    print(f"{len(content)} calls: {len(places)} differences", *places[:40], sep="\n  ")
    return min(len(places), 1)


if __name__ == "__main__":
    sys.exit(main())
