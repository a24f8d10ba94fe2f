"""The example for an Alertmanager is valid, and a real Alertmanager with it calls once for one cause."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Set
from functools import partial
from typing import Any

import httpx
import pytest

from tests.cluster.running import quiet_port, wait_until
from tests.deploy.prometheus import ALERTS, RULES

FILE = RULES / "alertmanager.yml"
LIMIT_S = 120.0
PROGRAM = shutil.which("alertmanager") or shutil.which("prometheus-alertmanager")

needs_alertmanager = pytest.mark.skipif(
    not (PROGRAM and shutil.which("amtool")),
    reason="Alertmanager is not installed: run deploy/prometheus/install.sh as root",
)

Alert = dict[str, str]
Deliver = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def deliver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deliver]:
    """Send alerts to a real Alertmanager; return the state of each, by its name and namespace.

    The second argument names those that have to fall silent.
    """
    port, folder = quiet_port(), tmp_path_factory.mktemp("alertmanager")
    address = [f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]
    command = [str(PROGRAM), f"--config.file={FILE}", f"--storage.path={folder}", *address]
    http = httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60)
    with (folder / "log").open("w") as log, http:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_until(lambda: is_ready(http), LIMIT_S, "Alertmanager to be ready")
            yield partial(receive, http)
        finally:
            process.terminate()
            process.wait(60)


def is_ready(http: httpx.Client) -> bool:
    try:
        return http.get("/-/ready").status_code == 200
    except httpx.HTTPError:
        return False


def receive(http: httpx.Client, alerts: list[Alert], silences: Set[str] = frozenset()) -> dict[str, Any]:
    """Start the receiver, with other namespaces for each test, so that tests share no alert."""
    assert http.post("/api/v2/alerts", json=[{"labels": alert} for alert in alerts]).status_code == 200
    spaces = {alert["namespace"] for alert in alerts}

    def states() -> dict[str, Any]:
        items = [item for item in http.get("/api/v2/alerts").json() if item["labels"]["namespace"] in spaces]
        return {f"{item['labels']['alertname']} {item['labels']['namespace']}": item for item in items}

    wait_until(
        lambda: (
            len(states()) == len(alerts)
            and all(item["status"]["state"] != "unprocessed" for item in states().values())
            and silent(states()) >= silences  # an inhibition is decided when its source has arrived
        ),
        LIMIT_S,
        "the alerts to be processed",
    )
    time.sleep(0.2)  # for what should stay loud
    return states()


def alert(name: str, namespace: str, **labels: str) -> Alert:
    severity = ALERTS[f"Errata{name}"]["labels"]["severity"]
    return {"alertname": f"Errata{name}", "namespace": namespace, "severity": severity, **labels}


def silent(states: dict[str, Any]) -> set[str]:
    return {name.removeprefix("Errata") for name, item in states.items() if item["status"]["inhibitedBy"]}


@needs_alertmanager
def test_the_example_is_valid() -> None:
    process = subprocess.run(["amtool", "check-config", FILE], capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stdout + process.stderr


@needs_alertmanager
def test_a_ledger_that_is_gone_calls_once_and_silences_nothing_of_another_service(deliver: Deliver) -> None:
    silences = {"EditsFail prod", "QuestionsFail prod", "ServerErrors prod", "AuditLost prod"}
    states = deliver(
        [
            alert("LedgerGone", "prod", role="editor"),
            alert("EditsFail", "prod", kind="edit"),
            alert("QuestionsFail", "prod", model="kbert"),
            alert("ServerErrors", "prod"),
            alert("AuditLost", "prod"),
            alert("ReplicasMissing", "prod", model="nkb"),
            alert("QuestionsFail", "other", model="kbert"),
        ],
        silences,
    )
    assert silent(states) == silences


@needs_alertmanager
def test_a_model_that_is_gone_silences_what_follows_for_it_alone(deliver: Deliver) -> None:
    silences = {"ReplicasMissing models", "ServerErrors models"}
    states = deliver(
        [
            alert("ModelGone", "models", model="nkb"),
            alert("ReplicasMissing", "models", model="nkb"),
            alert("QuestionsFail", "models", model="kbert"),
            alert("ServerErrors", "models"),
        ],
        silences,
    )
    assert silent(states) == silences
