"""Grafana finds the boards, they share their frame, and every picture asks for figures that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from prometheus_client import REGISTRY
from ray.dashboard.modules.reporter.reporter_agent import METRICS_GAUGES

from service.metrics import metrics
from tests.deploy.boards import BOARDS, FOLDER, PANELS, SCOPE, Panel
from tests.deploy.prometheus import (
    RECORDING_RULES,
    fill_variables,
    metric_names,
    needs_prometheus,
)
from tests.deploy.test_prometheus import promtool

RAYS = {f"ray_{name}" for name in METRICS_GAUGES}
COLUMNS = 24  # columns of Grafana's grid
DATASOURCE = {"type": "prometheus", "uid": "$datasource"}

each_board = pytest.mark.parametrize("name", BOARDS)
each_panel = pytest.mark.parametrize("panel", PANELS, ids=lambda panel: f"{panel.board}: {panel.title}")


def page_names() -> set[str]:
    """Every name on our page."""
    assert metrics.HTTP  # its import fills the registry
    names: set[str] = set()
    for family in REGISTRY.collect():
        endings = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(family.type, [""])
        names |= {family.name + ending for ending in endings}
    return {name for name in names if name.startswith("errata_")}


@each_board
def test_a_board_is_found_by_its_name_and_differs_from_the_others_in_its_panels_only(name: str) -> None:
    board = BOARDS[name]
    assert board["uid"] == f"errata-{name}"
    keys_of_a_board = {"uid", "title", "description", "templating", "panels"}
    frames = [
        {key: value for key, value in item.items() if key not in keys_of_a_board} for item in BOARDS.values()
    ]
    assert all(frame == frames[0] for frame in frames)
    assert (board["tags"], board["schemaVersion"], board["refresh"]) == (["errata"], 39, "30s")
    [link] = board["links"]
    assert (link["type"], link["tags"]) == ("dashboards", ["errata"])
    [commits] = board["annotations"]["list"]
    assert f"errata_ledger_version{{{SCOPE}}}" in commits["expr"]


@each_panel
def test_every_picture_says_what_it_shows_and_reads_the_prometheus_that_is_chosen(panel: Panel) -> None:
    assert panel.title
    assert panel.unit
    assert panel.json["description"]
    assert [item["datasource"] for item in (panel.json, *panel.json["targets"])] == [DATASOURCE] * (
        1 + len(panel.exprs)
    )
    assert {target["instant"] for target in panel.json["targets"]} == {panel.is_number}


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


@each_board
def test_a_board_lets_choose_one_of_several_services(name: str) -> None:
    choices = {choice["name"]: choice for choice in BOARDS[name]["templating"]["list"]}
    assert choices["datasource"]["type"] == "datasource"
    for label in choices.keys() - {"datasource"}:
        assert (choices[label]["includeAll"], choices[label]["allValue"]) == (True, ".*")
    assert {"namespace", "cluster"} <= choices.keys()


def test_every_metric_of_the_service_is_in_a_picture() -> None:
    names = {name for panel in PANELS for expr in panel.exprs for name in _all(expr)}
    assert {name for name in page_names() if _stem(name) not in names} <= NOT_SHOWN


NOT_SHOWN = {
    "errata_audit_lost_total",  # an alert
    "errata_proxies_bounded",  # metrics of an error in the log
    "errata_memory_rows_per_slot",  # metrics of editors whose edits share slots, which no default method does
}


def _all(expr: str) -> set[str]:
    """Return all metrics of an expression, those in its recording rules included."""
    expressions = [expr, *(expression for rule, expression in RECORDING_RULES.items() if rule in expr)]
    return {_stem(name) for expression in expressions for name in metric_names(expression)}


def _stem(name: str) -> str:
    for ending in ("_bucket", "_sum", "_count"):
        name = name.removesuffix(ending)
    return name


@each_board
def test_no_picture_covers_another(name: str) -> None:
    cells: set[tuple[int, int]] = set()
    ids = []
    for panel in BOARDS[name]["panels"]:
        at = panel["gridPos"]
        place = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not place & cells
        assert at["x"] + at["w"] <= COLUMNS
        cells |= place
        ids.append(panel["id"])
    assert len(ids) == len(set(ids))


def test_grafana_is_told_where_the_boards_and_the_figures_are() -> None:
    folder = FOLDER.parent / "provisioning"
    [source] = yaml.safe_load((folder / "datasources" / "prometheus.yml").read_text())["datasources"]
    [provider] = yaml.safe_load((folder / "dashboards" / "errata.yml").read_text())["providers"]
    assert (source["type"], source["url"]) == ("prometheus", "$PROMETHEUS_URL")
    assert (provider["type"], provider["options"]["path"]) == ("file", "$ERRATA_BOARDS")
