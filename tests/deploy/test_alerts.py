"""Every alert fires when it should and not otherwise, uses metrics that exist, and has instructions.

The example for an Alertmanager is valid, and a real Alertmanager with it calls once for one cause.
"""

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Set
from functools import partial
from typing import Any

import httpx
import pytest
import yaml

from tests.cluster.running import ROOT, quiet_port, wait_until
from tests.deploy.test_grafana import RAYS, page_names
from tests.deploy.test_prometheus import (
    ALERTS,
    RECORDING_RULES,
    RULES,
    metric_names,
    needs_prometheus,
    promtool,
)
from tests.shape.links import anchors

CASES = ROOT / "tests" / "deploy" / "alerts.yml"
EXPRS = [*RECORDING_RULES.values(), *(rule["expr"] for rule in ALERTS.values())]


@needs_prometheus
def test_the_alerts_fire_when_they_should() -> None:
    promtool("test", "rules", CASES)


@pytest.mark.parametrize("alert", ALERTS)
def test_each_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not(alert: str) -> None:
    cases = [case for test in yaml.safe_load(CASES.read_text())["tests"] for case in test["alert_rule_test"]]
    fires = {bool(case["exp_alerts"]) for case in cases if case["alertname"] == alert}
    assert fires == {True, False}


@pytest.mark.parametrize("alert", ALERTS)
def test_each_alert_says_what_it_means_and_what_to_do(alert: str) -> None:
    rule = ALERTS[alert]
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert {"summary", "description", "runbook_url"} == rule["annotations"].keys()
    address, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    assert (
        address == "{{ with $externalLabels.runbooks }}{{ . }}{{ else }}deploy/prometheus/ALERTS.md{{ end }}"
    )
    assert anchor in anchors((ROOT / "deploy" / "prometheus" / "ALERTS.md").read_text())


@pytest.mark.parametrize("expr", EXPRS)
def test_rules_speak_of_metrics_that_exist(expr: str) -> None:
    assert metric_names(expr) <= page_names() | RAYS
    names = set(re.findall(r"\w+:\w+:\w+", expr))
    assert names <= RECORDING_RULES.keys()


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
