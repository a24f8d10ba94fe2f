"""Every alert fires when it should and not otherwise, speaks of metrics that exist, and says what to do."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from tests.cluster.running import ROOT
from tests.deploy.observed import RULES, metrics_in, needs_prometheus
from tests.deploy.test_grafana import RAYS, ours
from tests.deploy.test_prometheus import promtool

CASES = ROOT / "tests" / "deploy" / "alerts.yml"


def rules(name: str) -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load((RULES / name).read_text())["groups"] for rule in group["rules"]]


ALERTS = {rule["alert"]: rule for rule in rules("alerts.yml")}
RECORDED = {rule["record"]: rule["expr"] for rule in rules("recording.yml")}


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
    file, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    assert anchor in anchors((ROOT / file).read_text())


def anchors(markdown: str) -> set[str]:
    """As the places where code is read make them of headings."""
    headings = re.findall(r"^#+ (.+)$", markdown, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("expr", [*RECORDED.values(), *(rule["expr"] for rule in ALERTS.values())])
def test_rules_speak_of_metrics_that_exist(expr: str) -> None:
    assert metrics_in(expr) <= ours() | RAYS
    used = set(re.findall(r"\w+:\w+:\w+", expr))
    assert used <= RECORDED.keys()
