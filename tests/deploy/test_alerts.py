"""Every alert fires when it should and not otherwise, uses metrics that exist, and has instructions."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.cluster.running import ROOT
from tests.deploy.prometheus import ALERTS, RECORDING_RULES, metric_names, needs_prometheus
from tests.deploy.test_grafana import RAYS, page_names
from tests.deploy.test_prometheus import promtool
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
