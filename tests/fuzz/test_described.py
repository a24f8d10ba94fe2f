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

from tests.service.http.serving import Service

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
