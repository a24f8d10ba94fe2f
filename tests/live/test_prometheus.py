"""A real Prometheus watches a real service: every picture shows something, and an alert fires when something breaks."""

import time
from collections.abc import Callable, Iterator

import pytest

from tests.bench.processes import run_python
from tests.cluster.running import Service, kill, quiet_port, signal, wait_until
from tests.deploy.test_grafana import PANELS, Panel
from tests.deploy.test_prometheus import (
    ALERTS,
    RECORDING_RULES,
    Prometheus,
    Traffic,
    needs_prometheus,
    run_prometheus,
)

pytestmark = needs_prometheus

SHORT_WAITS = {"for: 30s": "for: 1s"}
SYSTEMS = ("nkb=tests.service.toy:load_toy", "atlas=tests.service.toy_graph:load_atlas")
ROUNDS = 4
LAST_OF_A_ROUND = 'errata_http_requests_total{route="/v1/answers",status="404"}'
SHOWN_S = 30.0  # Ray shows a machine's figures some ten seconds after its start
VISIBLE = [
    pytest.param(panel, id=f"{panel.board}: {panel.row}: {panel.title}")
    for panel in PANELS
    if "GPU" not in panel.row  # there is none here
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder, port = tmp_path_factory.mktemp("observed"), quiet_port()
    url = f"http://127.0.0.1:{port}"
    words = ["--system", SYSTEMS[1], "--upstream", f"team={url}/v1"]
    service = Service(folder / "var", system=SYSTEMS[0], words=words)
    with run_python(["-m", "tests.service.upstream.stub", str(port)], url, folder / "upstream.log"):
        try:
            yield service.start()
        finally:
            service.stop()


@pytest.fixture(scope="module")
def prometheus(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Run a Prometheus with some seconds of traffic: a rate needs figures that grow between two scrapes."""
    folder = tmp_path_factory.mktemp("prometheus")
    traffic = Traffic(service, folder)
    with run_prometheus(service, folder, SHORT_WAITS) as prometheus:
        wait_until(lambda: prometheus.value('up{job="errata"}') == 1, 10, "the first look")
        for _ in range(ROUNDS - 1):
            traffic.questions()
            traffic.upstream()
            time.sleep(1)
        traffic.edits()
        traffic.questions()
        traffic.upstream()
        wait_until(lambda: prometheus.value(LAST_OF_A_ROUND) == ROUNDS, 10, "a look after the traffic")
        yield prometheus


def soon(condition: Callable[[], object], description: str) -> None:
    wait_until(condition, SHOWN_S, description)


def test_the_service_names_its_own_page_to_prometheus(service: Service) -> None:
    with service.http(key=False) as http:
        reply = http.get("/discovery/service")
    assert reply.headers["content-type"] == "application/json"
    assert reply.json() == [{"targets": [f"127.0.0.1:{service.port}"], "labels": {"__scheme__": "http"}}]


@pytest.mark.parametrize("panel", VISIBLE)
def test_every_picture_shows_something(prometheus: Prometheus, panel: Panel) -> None:
    for expr in panel.exprs:
        soon(lambda expr=expr: prometheus.history(expr), f"{expr} to show something")


def test_all_rules_are_evaluated_without_an_error_and_a_healthy_service_alerts_nobody(
    prometheus: Prometheus,
) -> None:
    """No alert is about to fire either: most wait for a minute and more, which no test does."""

    def list_rules() -> list[dict[str, str]]:
        return [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]

    soon(lambda: all(rule["health"] == "ok" for rule in list_rules()), "every rule to be evaluated")
    assert {rule["name"] for rule in list_rules()} == ALERTS.keys() | RECORDING_RULES.keys()
    soon(
        lambda: all(rule["state"] == "inactive" for rule in list_rules() if rule["name"] in ALERTS),
        "no alert to wait",
    )


def test_the_figures_are_those_of_what_was_done(prometheus: Prometheus) -> None:
    batches = 40
    outcome_query = 'errata_answers_total{model="nkb",outcome="%s"}'
    assert prometheus.value(outcome_query % "answered") == ROUNDS * (1 + batches)
    assert prometheus.value(outcome_query % "declined") == ROUNDS * 2
    assert prometheus.value('errata_commits_total{author="admin"}') == Traffic.commits
    assert prometheus.value('errata_edits_total{kind="edit",outcome="dry_run"}') == 1
    assert prometheus.value('errata_edits_total{kind="edit",outcome="internal"}') == 0
    assert prometheus.value("max(errata_ledger_version)") == Traffic.commits
    assert prometheus.value('errata_graph_statements{source="imports"}') == 2
    assert prometheus.value('errata_http_requests_total{route="/v1/answers",status="422"}') == ROUNDS
    assert prometheus.series('errata_memory_slots{memory="graph",slots="reserved"}') == []


def test_an_editor_that_is_killed_is_missed_and_its_death_is_counted(
    prometheus: Prometheus, service: Service
) -> None:
    [editor] = service.pids_of("ServeReplica:errata:editor")
    alert = 'ALERTS{alertname="ErrataPartGone",part="editor"}'
    kill(editor)
    soon(lambda: prometheus.series(alert), "the editor to be missed")
    service.wait_until_ready()
    soon(lambda: not prometheus.series(alert), "the next editor to be seen")
    deaths = "sum by (part) (instance_part:errata_process_deaths:total) > 0"
    assert prometheus.series(deaths) == [({"part": "editor"}, 1)]


def test_without_its_ledger_the_service_alerts_and_goes_on_answering(
    prometheus: Prometheus, service: Service
) -> None:
    [valkey] = service.pids_of("valkey-server")
    firing = 'ALERTS{alertname="ErrataLedgerGone",alertstate="firing",role="%s"}'
    kill(valkey, signal.SIGSTOP)
    try:
        for role in ("editor", "replica"):
            soon(lambda role=role: prometheus.series(firing % role), f"the alert of the {role}")
        with service.errata() as errata:
            assert errata.ask("Who wrote Hamlet?").answer == "William Shakespeare"
    finally:
        kill(valkey, signal.SIGCONT)
    soon(lambda: not prometheus.series(firing % "replica"), "the alert to end")
