"""Docker Compose itself reads the files, and what they mount, name and open is there and is meant.

No container is started here; what runs in the ledger's container is, by its own command and with the secrets that the
script makes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from service.ledger.store import RedisLedger
from tests.cluster.running import ROOT
from tests.deploy.acl_valkey import HOST, AclValkey, start_acl_valkey
from tests.service.ledger.writing import fill

DEPLOY = ROOT / "deploy"
COMPOSE = Path(sys.executable).with_name("docker-compose")
FILES = [["compose.yaml"], ["compose.yaml", "compose.cuda.yaml"]]


def compose(*names: str) -> dict[str, Any]:
    """Return every setting in its long form; Compose ends with an error for settings outside of its specification."""
    files = [word for name in names for word in ("--file", str(DEPLOY / name))]
    words = [str(COMPOSE), *files, "config", "--format", "json"]
    process = subprocess.run(
        words, capture_output=True, text=True, timeout=120, env={"PATH": os.environ["PATH"]}
    )
    assert (process.returncode, process.stderr) == (0, "")
    config: dict[str, Any] = json.loads(process.stdout)
    return config


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    services: dict[str, Any] = compose("compose.yaml")["services"]
    return services


@pytest.mark.parametrize("names", FILES, ids="+".join)
def test_compose_reads_the_files(names: list[str]) -> None:
    assert compose(*names)["services"].keys() == {"errata", "redis", "prometheus", "grafana"}


def test_all_that_is_mounted_from_here_is_here(services: dict[str, Any]) -> None:
    sources = [
        mount["source"]
        for service in services.values()
        for mount in service.get("volumes", [])
        if mount["type"] == "bind"
    ]
    assert len(sources) == 4
    assert all(Path(path).is_dir() for path in sources)
    assert (DEPLOY / "prometheus" / "prometheus.yml").is_file()
    assert list((DEPLOY / "grafana" / "dashboards").glob("*.json"))


def test_only_the_host_reaches_any_port(services: dict[str, Any]) -> None:
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert {port["host_ip"] for port in ports} == {"127.0.0.1"}
    assert {port["published"] for port in ports} == {"8000", "9090", "3000"}


def test_no_service_can_become_more_than_it_is(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["read_only"], name


def test_every_image_of_others_has_a_version(services: dict[str, Any]) -> None:
    versions = [services[name]["image"].rpartition(":")[2] for name in ("redis", "prometheus", "grafana")]
    assert all(sum(part.isdigit() for part in version) >= 3 for version in versions), versions


def test_no_secret_is_in_an_environment(services: dict[str, Any]) -> None:
    for name, service in services.items():
        environment = service.get("environment", {})
        secret = {key for key in environment if any(word in key for word in ("PASSWORD", "KEY", "REDIS_URL"))}
        assert all(environment[key].startswith("/run/secrets/") for key in secret), name
        targets = {grant["target"] for grant in service.get("secrets", [])}
        assert {Path(environment[key]).name for key in secret} == {Path(target).name for target in targets}, (
            name
        )


def secrets(folder: Path) -> None:
    subprocess.run([str(DEPLOY / "compose-secrets.sh"), str(folder)], check=True, capture_output=True)


def test_the_secrets_are_made_once_and_the_folder_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    secrets(folder)
    first = {path.name: path.read_text() for path in folder.iterdir()}
    names = {Path(secret["file"]).name for secret in compose("compose.yaml")["secrets"].values()}
    names.add("ray-redis-password")  # of Kubernetes alone
    assert (first.keys(), folder.stat().st_mode & 0o077) == (names, 0)
    assert all(len(text.strip()) >= 64 for text in first.values())
    secrets(folder)
    assert {path.name: path.read_text() for path in folder.iterdir()} == first


async def test_with_these_secrets_the_service_reaches_its_ledger(
    services: dict[str, Any], tmp_path: Path
) -> None:
    secrets(tmp_path)
    assert services["redis"]["entrypoint"] == ["/etc/valkey/start.sh"]
    passwords = ((tmp_path / name).read_text() for name in ("redis-password", "operator-password"))
    url = (tmp_path / "redis-url").read_text().strip()
    place = tmp_path / "run"
    place.mkdir()
    with start_acl_valkey(place, *passwords) as server:
        assert "@redis:6379/" in url
        await _written_and_read(url.replace("@redis:6379/", f"@{HOST}:{server.port}/"), server)


async def _written_and_read(url: str, server: AclValkey) -> None:
    ledger = RedisLedger.connect(url)
    writer = await fill(ledger, 2)
    assert await ledger.read(0) == writer.commits
    facts = await ledger.check()
    await ledger.aclose()
    assert server.operator().config_get("append*")["appendfsync"] == "always"
    assert len(facts.warnings) == 1, "it is not told how the server persists"
