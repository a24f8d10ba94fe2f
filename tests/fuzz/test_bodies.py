"""Hostile bodies, those that are kept and those out of the document."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.http import body as bodies
from tests.service.http.serving import Service

BODIES = Path(__file__).parent / "bodies"
CHAT = "/v1/chat/completions"
ROUTES = {
    "answers": ["/v1/answers"],
    "chat": [CHAT],
    "edits": ["/admin/edits"],
    "import": ["/admin/graph/import"],
    "everywhere": [
        *("/v1/answers", "/v1/answers/batch", CHAT, "/admin/edits", "/admin/reverts", "/admin/rollbacks"),
        *("/admin/keys", "/admin/keys/nobody/rotations"),
    ],
}
SMALL_ROUTES = ("/admin/reverts", "/admin/rollbacks", "/admin/keys", "/admin/keys/nobody/rotations")
LARGE_ROUTES = ("/admin/edits", "/admin/graph/import")
BOUNDS = (
    dict.fromkeys(SMALL_ROUTES, bodies.FEW_FIELDS)
    | dict.fromkeys(LARGE_ROUTES, bodies.EDITS)
    | {CHAT: bodies.MESSAGES}
)
FILES = sorted(BODIES.glob("*/*.*"))
JSON = {"content-type": "application/json"}
PERU = {"question": "What is the capital of Peru?"}


@pytest.fixture(scope="module")
def http(service: Service) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.url, headers=service.authorization, timeout=60) as http:
        yield http


@pytest.mark.parametrize("file", FILES, ids=[f"{file.parent.name}/{file.stem}" for file in FILES])
def test_a_body_gets_the_status_that_its_file_is_named_after(http: httpx.Client, file: Path) -> None:
    head = http.get("/admin/versions").json()["head"]
    for route in ROUTES[file.parent.name]:
        reply = http.post(route, content=file.read_bytes(), headers=JSON)
        assert reply.status_code == expected(file, route), (route, reply.text)
        if reply.status_code >= 400:
            problem = reply.json()
            assert len(problem.get("error", problem).get("code")) > 3
            assert len(reply.content) < 4_000, "a refusal does not send back what it was sent"
    assert http.get("/admin/versions").json()["head"] == head
    assert http.post("/v1/answers", json=PERU).status_code == 200


def expected(file: Path, route: str) -> int:
    """Return the status that a route has to give.

    A body with more bytes or parts than its route takes is refused before it is read. OpenAI has no 422: there, what
    does not fit is 400 as well.
    """
    status, body = int(file.name.partition("-")[0]), file.read_bytes()
    bounds = BOUNDS.get(route, bodies.ASKING)
    n_parts = sum(map(body.count, (b"[", b"{", b":", b","))) + body.count(b'"') // 2
    if len(body) > bounds.bytes or n_parts > bounds.parts:
        return 413
    return 400 if (route, status) == (CHAT, 422) else status


def test_every_folder_of_bodies_is_sent_somewhere() -> None:
    assert {file.parent.name for file in FILES} == set(ROUTES)
    assert len(FILES) > 100


ROOT, CONFIG = Path(__file__).parents[2], Path(__file__).with_name("schemathesis.toml")
EXAMPLES = 5  # examples for each operation, beside those of its bounds
LIMIT_S = 3_600
REFERENCE = "#/components/schemas/"


def run_schemathesis(
    service: Service, folder: Path, seed: int, *words: str, headers: Mapping[str, str]
) -> str:
    """Run schemathesis; fail with its output if it found a fault."""
    header_options = [word for name, value in headers.items() for word in ("-H", f"{name}: {value}")]
    command = str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIG)
    output = subprocess.run(
        [
            *command,
            "run",
            f"{service.url}/openapi.json",
            "--no-color",
            "--seed",
            str(seed),
            *header_options,
            *words,
        ],
        cwd=folder,
        env={**os.environ, "SCHEMATHESIS_HOOKS": "tests.fuzz.checks", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert output.returncode == 0, output.stdout + output.stderr
    return output.stdout


def read_head(service: Service) -> int:
    reply = httpx.get(f"{service.url}/admin/versions", headers=service.authorization)
    return int(reply.json()["head"])


def count_operations(service: Service) -> int:
    document = httpx.get(f"{service.url}/openapi.json").json()
    return sum(len(verbs) for verbs in document["paths"].values())


@pytest.mark.timeout(LIMIT_S)
def test_with_the_admins_key(service: Service, tmp_path: Path, times: int, seed: int) -> None:
    limit = str(EXAMPLES * times)
    output = run_schemathesis(service, tmp_path, seed, "--max-examples", limit, headers=service.authorization)
    count = count_operations(service)
    assert f"Tested: {count}" in output


@pytest.mark.timeout(LIMIT_S)
def test_with_nobodys_key(service: Service, tmp_path: Path, times: int, seed: int) -> None:
    before = read_head(service)
    arguments = ("--phases", "fuzzing", "--max-examples", str(2 * times))
    output = run_schemathesis(
        service, tmp_path, seed, *arguments, headers={"Authorization": "Bearer nobodys-key-but-long"}
    )
    assert f"Tested: {count_operations(service)}" in output
    assert read_head(service) == before


def test_every_schema_that_is_named_is_there(service: Service) -> None:
    document = httpx.get(f"{service.url}/openapi.json").json()
    names = {reference.removeprefix(REFERENCE) for reference in find_references(document)}
    assert names <= set(document["components"]["schemas"])


def find_references(part: Any) -> Iterator[str]:
    match part:
        case {"$ref": str(reference)}:
            yield reference
        case dict():
            for value in part.values():
                yield from find_references(value)
        case list():
            for value in part:
                yield from find_references(value)
