"""The Dockerfile is sound to hadolint, and what it copies is enough: the service runs from that and from nothing else.

No container engine is needed: the files that the context lets through are copied to a clean folder by the Dockerfile's
own COPY lines, installed from there as its last RUN does, and used from there. What is not tested is that the base
image can be had and that pip finds the packages of the lock.
Docker Compose itself reads the files, and what they mount, name and open is there and is meant.

No container is started here; what runs in the ledger's container is, by its own command and with the secrets that the
script makes.
"""

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from service.ledger.store import RedisLedger
from tests.cluster.running import ROOT
from tests.deploy.valkeys import HOST, AclValkey, start_acl_valkey
from tests.service.ledger.writing import fill

DOCKERFILE = ROOT / "deploy" / "Dockerfile"
BIN = Path(sys.executable).parent


def instructions(word: str) -> list[str]:
    """Return the arguments of instructions, with continued lines joined."""
    text = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text())
    return [line.removeprefix(f"{word} ") for line in text.splitlines() if line.startswith(f"{word} ")]


def let_through() -> list[Path]:
    """Return files of the context by the last matching rule, as Docker does. Only the file's forms are supported."""
    rules = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()
    rules = [rule for rule in rules if rule and not rule.startswith("#")]
    inclusions = [rule.removeprefix("!") for rule in rules if rule.startswith("!")]
    exclusions = [rule.removeprefix("**/") for rule in rules if rule.startswith("**/")]
    patterns = [*(f"!{path}" for path in inclusions), *(f"**/{name}" for name in exclusions)]
    assert rules == ["*", *patterns]
    paths = [path for inclusion in inclusions for path in _files(ROOT / inclusion)]
    return [path for path in paths if not any(_fits(path, exclusion) for exclusion in exclusions)]


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]


def _fits(path: Path, pattern: str) -> bool:
    return any(fnmatch.fnmatch(part, pattern) for part in path.relative_to(ROOT).parts)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the files in /source of the image."""
    folder, context_files = tmp_path_factory.mktemp("source"), let_through()
    for words in map(shlex.split, instructions("COPY")):
        if words[0].startswith("--from"):
            continue
        *froms, to = words
        for origin in froms:
            _copy(
                [path for path in context_files if path.is_relative_to(ROOT / origin)],
                ROOT / origin,
                folder,
                to,
            )
    return folder


def _copy(files: list[Path], origin: Path, folder: Path, to: str) -> None:
    assert files, f"COPY {origin} finds nothing that the context lets through"
    for path in files:
        name = path.name if path == origin else str(path.relative_to(origin))
        (folder / to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / to / name)


@pytest.fixture(scope="module")
def package_folder(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    assert "pip install --no-cache-dir --no-deps --no-build-isolation ." in instructions("RUN")
    words = ["pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(folder), "."]
    subprocess.run([sys.executable, "-m", *words], cwd=source, check=True, capture_output=True)
    return folder


def run(package_folder: Path, *words: str) -> str:
    """Run a Python that finds our packages only there, and all others where they are installed here."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package_folder), "HOME": str(package_folder)}
    process = subprocess.run(
        [sys.executable, *words],
        cwd=package_folder.parent,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_hadolint_finds_nothing() -> None:
    process = subprocess.run(
        [str(BIN / "hadolint"), str(DOCKERFILE)], capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stdout) == (0, "")


def test_what_is_copied_is_the_service_with_its_checkpoint(package_folder: Path) -> None:
    """Ray's wiring and the ledger's scripts are read, and the default model answers."""
    program = """
import json, torch, service.app, service.ledger.store
from models.nkb.system import load
from models.system import Ask
from service.ledger.connection import load_script
nkb = load(torch.device("cpu"), torch.float32)
views = {memory.name: memory.view(memory.base) for memory in nkb.memories}
[reply] = nkb.system.answer([Ask("What is the capital of Peru?")], [views])
print(json.dumps([reply.answer, load_script("append")[:2], service.app.__file__]))
"""
    answer, script, file = json.loads(run(package_folder, "-c", program))
    assert (answer, script) == ("Lima", "--")
    assert Path(file).is_relative_to(package_folder)


def test_its_entry_point_is_the_service(package_folder: Path) -> None:
    [entry], [command] = instructions("ENTRYPOINT"), instructions("CMD")
    python, *words = json.loads(entry)
    assert python == "python"
    assert "ERRATA_ADMIN_KEY_FILE" in run(package_folder, *words, *json.loads(command), "--help")


def test_nothing_that_is_not_needed_gets_in(source: Path) -> None:
    by_pip = {"build", "errata.egg-info"}  # by pip, if an earlier test has installed it
    assert {path.name for path in source.iterdir()} - by_pip == {
        *("lock.txt", "pyproject.toml", "README.md", "LICENSE", "clients", "models", "service")
    }
    assert not list(source.rglob("__pycache__"))
    assert not list(source.rglob("admin.key"))


def test_it_runs_as_nobody_in_particular_and_holds_no_secret() -> None:
    assert instructions("USER") == ["10001:10001"]
    assert not [
        line for line in [*instructions("ENV"), *instructions("ARG")] if "KEY" in line or "REDIS" in line
    ]
    assert instructions("VOLUME") == ["/var/lib/errata"]
    assert "/healthz" in DOCKERFILE.read_text()


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
