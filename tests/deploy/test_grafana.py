"""The boards of Grafana ask for metrics that the service has."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import REGISTRY
from ray.dashboard.modules.reporter.reporter_agent import METRICS_GAUGES

from service.metrics import metrics
from tests.cluster.running import ROOT
from tests.deploy.test_prometheus import (
    RECORDING_RULES,
    fill_variables,
    metric_names,
    needs_prometheus,
    promtool,
)

FOLDER = ROOT / "deploy" / "grafana" / "dashboards"
BOARDS: dict[str, dict[str, Any]] = {
    file.stem: json.loads(file.read_text("utf-8")) for file in sorted(FOLDER.iterdir())
}
SCOPE = 'namespace=~"$namespace",cluster=~"$cluster"'  # the service that a person has selected on the board


@dataclass(frozen=True)
class Panel:
    """One picture of a board."""

    board: str  # the name of the board's file
    row: str  # the heading above it
    json: Mapping[str, Any]  # the panel, as the file has it

    @property
    def title(self) -> str:
        title: str = self.json["title"]
        return title

    @property
    def exprs(self) -> list[str]:
        """What it asks Prometheus."""
        return [target["expr"] for target in self.json["targets"]]

    @property
    def unit(self) -> str:
        unit: str = self.json["fieldConfig"]["defaults"]["unit"]
        return unit

    @property
    def is_number(self) -> bool:
        return self.json["type"] == "stat"


def _list_panels() -> Iterator[Panel]:
    for name, board in BOARDS.items():
        row = ""
        for panel in board["panels"]:
            if panel["type"] == "row":
                row = panel["title"]
            else:
                yield Panel(name, row, panel)


PANELS = tuple(_list_panels())


RAYS = {f"ray_{name}" for name in METRICS_GAUGES}

each_panel = pytest.mark.parametrize("panel", PANELS, ids=lambda panel: f"{panel.board}: {panel.title}")


def page_names() -> set[str]:
    """Every name on our page."""
    assert metrics.HTTP  # its import fills the registry
    names: set[str] = set()
    for family in REGISTRY.collect():
        endings = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(family.type, [""])
        names |= {family.name + ending for ending in endings}
    return {name for name in names if name.startswith("errata_")}


@each_panel
def test_every_picture_asks_for_figures_that_exist(panel: Panel) -> None:
    for expr in panel.exprs:
        assert metric_names(expr) <= page_names() | RAYS


@each_panel
def test_every_query_asks_for_the_namespace_and_the_cluster_that_are_chosen(panel: Panel) -> None:
    for expr in panel.exprs:
        queries = re.findall(r"(?:errata_\w+|ray_\w+|ALERTS|\w+:\w+:\w+)\{([^}]*)\}", expr)
        assert len(queries) == expr.count(SCOPE)
        assert queries
        assert all(query.startswith(SCOPE) for query in queries)
        assert metric_names(expr) <= set(re.findall(r"(\w+)\{", expr))


@needs_prometheus
def test_prometheus_can_read_every_query(tmp_path: Path) -> None:
    """The queries are those of the boards, with the choices made."""
    exprs = [fill_variables(expr) for panel in PANELS for expr in panel.exprs]
    rules = [{"record": f"query:{number}", "expr": expr} for number, expr in enumerate(exprs)]
    groups = {"groups": [{"name": "boards", "rules": rules}]}
    (tmp_path / "queries.yml").write_text(yaml.safe_dump(groups))
    assert f"{len(exprs)} rules found" in promtool("check", "rules", tmp_path / "queries.yml")


def test_every_metric_of_the_service_is_in_a_picture() -> None:
    names = {name for panel in PANELS for expr in panel.exprs for name in _all(expr)}
    assert {name for name in page_names() if _stem(name) not in names} <= NOT_SHOWN


NOT_SHOWN = {
    "errata_audit_lost_total",  # an alert
    *("errata_proxies_bounded", "errata_background_failures_total"),  # metrics of an error in the log
}


def _all(expr: str) -> set[str]:
    """Return all metrics of an expression, those in its recording rules included."""
    expressions = [expr, *(expression for rule, expression in RECORDING_RULES.items() if rule in expr)]
    return {_stem(name) for expression in expressions for name in metric_names(expression)}


def _stem(name: str) -> str:
    for ending in ("_bucket", "_sum", "_count"):
        name = name.removesuffix(ending)
    return name
