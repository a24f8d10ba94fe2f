"""A browser, a service of its own for each test, and the people who may sign in there."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from selenium import webdriver

from tests.console.audit import Auditor, read_axe
from tests.console.keyboard import WAIT_S, Curator, start_browser
from tests.service.http.serving import SYSTEMS, Service, serve_in_thread

READERS = {"first-word": "tests.service.toy_documents:load"}
WAITING = ("who runs the mill?", "who owns the barn?")  # questions of the worklist


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def browser(downloads: Path) -> Iterator[webdriver.Chrome]:
    with start_browser(downloads) as browser:
        yield browser


@pytest.fixture(scope="session")
def axe() -> str:
    return read_axe()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Run a service that answers from a table, a graph and documents, and keeps what it could not answer."""
    with serve_in_thread(tmp_path, gaps_days=7.0, systems=SYSTEMS | READERS) as service:
        yield service


@pytest.fixture
def http(service: Service) -> Iterator[httpx.Client]:
    """Programs with the admin's key."""
    with httpx.Client(base_url=service.url, headers=service.authorization, timeout=WAIT_S) as http:
        yield http


@pytest.fixture
def keys(service: Service, http: httpx.Client) -> dict[str, str]:
    """Return keys by the names of people: one who edits and proposes, one who edits, one who proposes."""
    keys = {"admin": service.key}
    for name, scopes in (("ann", ["edit", "propose"]), ("bo", ["edit"]), ("cy", ["propose"])):
        body = {"name": name, "scopes": ["ask", "read", *scopes]}
        keys[name] = http.post("/admin/keys", json=body).json()["key"]
    return keys


@pytest.fixture
def auditor(browser: webdriver.Chrome, service: Service, axe: str) -> Auditor:
    """Return what looks at pages of a browser that knows nothing yet."""
    browser.get("about:blank")
    browser.delete_all_cookies()
    for log in ("browser", "performance"):
        browser.get_log(log)
    return Auditor(browser, service.url, axe)


Sit = Callable[[bool], Curator]


@pytest.fixture
def sit(
    browser: webdriver.Chrome, service: Service, keys: dict[str, str], downloads: Path, auditor: Auditor
) -> Iterator[Sit]:
    """Return a function that lets a person sit down, whose browser runs scripts or none; every page is looked at."""
    faults: list[str] = []

    def look() -> None:
        faults.extend(f"{curator.place}: {fault}" for fault in auditor.find_faults())

    def start(scripts: bool = True) -> Curator:
        auditor.allow_scripts(scripts)
        return curator

    curator = Curator(browser, service.url, keys, downloads, look)
    yield start
    auditor.allow_scripts(True)
    for file in downloads.iterdir():
        file.unlink()
    assert not faults, "\n".join(faults)


@pytest.fixture
def curator(sit: Sit) -> Curator:
    return sit(True)


@pytest.fixture
def worklist(http: httpx.Client) -> None:
    """Ask what cannot be answered, until it stands in the worklist."""
    for question in WAITING:
        http.post("/v1/answers", json={"question": question, "model": "nkb"}).raise_for_status()
    limit = time.monotonic() + WAIT_S
    while http.get("/admin/gaps").json()["total"] < len(WAITING):
        assert time.monotonic() < limit
        time.sleep(0.02)
