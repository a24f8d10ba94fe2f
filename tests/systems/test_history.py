"""A history with every kind of edit, which an old state made, opens as it was: a stored format never changes."""

import gzip
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from models.systems import SYSTEMS
from service.access.api_keys import fingerprint
from service.config import Settings
from service.ledger.embedded.server import EmbeddedValkey
from tests.service.conftest import ledger as ledger
from tests.service.conftest import raw as raw
from tests.service.conftest import valkey as valkey
from tests.service.http.conftest import KEY
from tests.service.http.conftest import app as app
from tests.service.http.conftest import editor as editor
from tests.service.http.conftest import http as http
from tests.service.http.conftest import stranger as stranger
from tests.service.parts import settings

FOLDER = Path(__file__).parent / "history"
EXPECTED: dict[str, Any] = json.loads(gzip.decompress((FOLDER / "expected.json.gz").read_bytes()))
LAST = len(EXPECTED["versions"])


@pytest.fixture
def config(valkey: EmbeddedValkey, tmp_path: Path) -> Settings:
    systems = {name: f"tests.systems.records:serve?name={name}" for name in SYSTEMS}
    return settings(valkey.url, tmp_path, systems=systems, admin_key_sha256=fingerprint(KEY))


def lacks(whole: Any, part: Any, path: str = "") -> list[str]:
    """Return where `whole` differs from `part`; fields that only `whole` has are newer, and no difference."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return [line for key in part for line in lacks(whole.get(key), part[key], f"{path}/{key}")]
    if isinstance(whole, list) and isinstance(part, list) and len(whole) == len(part):
        pairs = enumerate(zip(whole, part, strict=True))
        return [line for place, pair in pairs for line in lacks(*pair, f"{path}/{place}")]
    return [] if whole == part else [f"{path}: {part!r:.200} -> {whole!r:.200}"]


async def read(http: httpx.AsyncClient, path: str) -> Any:
    return (await http.get(path)).raise_for_status().json()


async def read_checksums(http: httpx.AsyncClient) -> dict[str, str]:
    checksums: dict[str, str] = (await read(http, "/v1/memory"))["checksums"]
    return checksums


async def test_it_opens_with_its_checksums_and_reports_and_is_reverted_bit_for_bit(
    http: httpx.AsyncClient,
) -> None:
    assert await read_checksums(http) == EXPECTED["base"]
    backup = gzip.decompress((FOLDER / "history.errata.gz").read_bytes())
    receipt = await http.post("/admin/import", content=backup)
    assert (receipt.status_code, receipt.json()["version"]) == (201, LAST), receipt.text

    checksums = [EXPECTED["base"]]  # of all memories at each version; a version names those that it wrote
    for version in EXPECTED["versions"]:
        checksums.append(checksums[-1] | version["checksums"])
        assert lacks(await read(http, f"/admin/versions/{version['version']}"), version) == []
    assert await read_checksums(http) == checksums[LAST]
    for name in ("edits", "reviews", "tags"):
        assert lacks(await read(http, f"/admin/{name}"), EXPECTED[name]) == []

    for version in (0, *range(1, LAST, 3), LAST):
        reply = await http.post("/admin/rollbacks", json={"to": version, "wait": "none"})
        assert reply.status_code == 201, reply.text
        assert await read_checksums(http) == checksums[version], version
