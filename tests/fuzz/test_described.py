"""Nothing that fits the documentation, or breaks it, gets an answer that the documentation does not have.

schemathesis makes requests out of the OpenAPI document: each bound of each field and beyond it, missing and unknown
fields, other types, verbs that are not there, and sequences in which one reply gives what the next request names.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fuzz.serving import Served

ROOT, CONFIG = Path(__file__).parents[2], Path(__file__).with_name("schemathesis.toml")
EXAMPLES = 5  # of each operation, beside those that its bounds give
LIMIT_S = 3_600
REFERENCE = "#/components/schemas/"


def fuzzed(served: Served, folder: Path, seed: int, *words: str, headers: Mapping[str, str]) -> str:
    """What schemathesis says; this fails with all of it where it found something."""
    sent = [word for name, value in headers.items() for word in ("-H", f"{name}: {value}")]
    command = str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIG)
    said = subprocess.run(
        [*command, "run", f"{served.url}/openapi.json", "--no-color", "--seed", str(seed), *sent, *words],
        cwd=folder,
        env={**os.environ, "SCHEMATHESIS_HOOKS": "tests.fuzz.checks", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert said.returncode == 0, said.stdout + said.stderr
    return said.stdout


def head(served: Served) -> int:
    reply = httpx.get(f"{served.url}/admin/versions", headers=served.authorization)
    return int(reply.json()["head"])


def operations(served: Served) -> int:
    document = httpx.get(f"{served.url}/openapi.json").json()
    return sum(len(verbs) for verbs in document["paths"].values())


@pytest.mark.timeout(LIMIT_S)
def test_with_the_admins_key(service: Served, tmp_path: Path, times: int, seed: int) -> None:
    most = str(EXAMPLES * times)
    said = fuzzed(service, tmp_path, seed, "--max-examples", most, headers=service.authorization)
    count = operations(service)
    assert f"Tested: {count}" in said


@pytest.mark.timeout(LIMIT_S)
def test_with_nobodys_key(service: Served, tmp_path: Path, times: int, seed: int) -> None:
    before = head(service)
    most = ("--phases", "fuzzing", "--max-examples", str(2 * times))
    said = fuzzed(service, tmp_path, seed, *most, headers={"Authorization": "Bearer nobodys-key-but-long"})
    assert f"Tested: {operations(service)}" in said
    assert head(service) == before


def test_every_schema_that_is_named_is_there(service: Served) -> None:
    document = httpx.get(f"{service.url}/openapi.json").json()
    named = {reference.removeprefix(REFERENCE) for reference in references(document)}
    assert named <= set(document["components"]["schemas"])


def references(part: Any) -> Iterator[str]:
    match part:
        case {"$ref": str(reference)}:
            yield reference
        case dict():
            for value in part.values():
                yield from references(value)
        case list():
            for value in part:
                yield from references(value)
