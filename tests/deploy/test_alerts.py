"""Every alert fires when it should and not otherwise, uses metrics that exist, and has instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import yaml
from prometheus_client import REGISTRY

from service.editing import figures as writes
from service.errors import ErrataError
from service.http import model_router
from service.metrics import metrics
from tests.cluster.running import ROOT
from tests.deploy.boards import PANELS
from tests.deploy.prometheus import ALERTS, RECORDING_RULES, metric_names, needs_prometheus
from tests.deploy.test_grafana import RAYS, page_names
from tests.deploy.test_prometheus import promtool
from tests.service.http.conftest import local_router
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


@pytest.mark.parametrize("expr", EXPRS)
def test_rules_tell_services_apart_and_need_no_name_of_a_job(expr: str) -> None:
    groups = re.findall(r"(?:by|on) \(([^)]*)\)", expr)
    assert all(group.startswith("namespace, cluster") for group in groups)
    assert len(re.findall(r"\b(?:sum|max|min|group|count)\b(?! by)", expr)) == 0
    assert "job=" not in expr


@pytest.mark.parametrize("kind", writes.KINDS)
def test_every_failure_of_an_edit_that_an_alert_counts_is_there_at_zero(kind: str) -> None:
    metrics.EDITS.clear()
    writes.create_series()
    assert looked_for("errata_edits_total")
    for outcome in looked_for("errata_edits_total"):
        assert REGISTRY.get_sample_value("errata_edits_total", {"kind": kind, "outcome": outcome}) == 0


def test_every_failure_of_a_question_that_an_alert_counts_is_there_at_zero() -> None:
    metrics.ANSWERS.clear()
    local_router({"toy": None})
    assert looked_for("errata_answers_total") == {*model_router.SERVER_FAILURES, "too_many"}
    for outcome in looked_for("errata_answers_total"):
        assert REGISTRY.get_sample_value("errata_answers_total", {"model": "toy", "outcome": outcome}) == 0


def test_the_board_and_the_alert_call_the_same_questions_failed() -> None:
    boards = [panel.exprs[0] for panel in PANELS if panel.title.startswith("Questions that fail")]
    matchers = {matcher for expr in boards for matcher in re.findall(r'outcome=~"[^"]+"', expr)}
    [failed] = matchers
    assert failed in RECORDING_RULES["model:errata_answers_failed:ratio5m"]


def looked_for(metric: str) -> set[str]:
    """Return every existing outcome that an expression names or matches."""
    patterns = re.findall(metric + r'\{[^}]*outcome=~?"([^"]+)"', " ".join(EXPRS))
    return {
        code
        for code in {*codes(ErrataError), "cancelled"}
        for pattern in patterns
        if re.fullmatch(pattern, code)
    }


def codes(kind: type[ErrataError]) -> Iterator[str]:
    yield kind.code
    for narrower in kind.__subclasses__():
        yield from codes(narrower)
