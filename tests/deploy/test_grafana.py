"""The boards are what the program writes, and every picture asks for figures that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from prometheus_client import REGISTRY
from ray.dashboard.modules.reporter.reporter_agent import METRICS_GAUGES

from deploy.grafana.__main__ import FOLDER, write
from deploy.grafana.board import COLUMNS, Board
from deploy.grafana.boards import BOARDS
from deploy.grafana.panel import SCOPE, Panel
from service.metrics import metrics
from tests.deploy.prometheus import (
    RECORDING_RULES,
    fill_variables,
    load_board,
    metric_names,
    needs_prometheus,
)
from tests.deploy.test_prometheus import promtool

RAYS = {f"ray_{name}" for name in METRICS_GAUGES}
PANELS = [
    pytest.param(panel, id=f"{board.name}: {panel.title}") for board in BOARDS for panel in board.panels
]


def page_names() -> set[str]:
    """Every name on our page."""
    assert metrics.HTTP  # the registry is filled by its import
    names: set[str] = set()
    for family in REGISTRY.collect():
        endings = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(family.type, [""])
        names |= {family.name + ending for ending in endings}
    return {name for name in names if name.startswith("errata_")}


def test_the_files_are_what_the_program_writes(tmp_path: Path) -> None:
    write(tmp_path)
    assert {file.name for file in FOLDER.iterdir()} == {file.name for file in tmp_path.iterdir()}
    for file in FOLDER.iterdir():
        assert file.read_text() == (tmp_path / file.name).read_text(), "run python -m deploy.grafana"


@pytest.mark.parametrize("panel", PANELS)
def test_every_picture_asks_for_figures_that_exist(panel: Panel) -> None:
    for line in panel.lines:
        assert metric_names(line.expr) <= page_names() | RAYS


@pytest.mark.parametrize("panel", PANELS)
def test_every_query_asks_for_the_namespace_and_the_cluster_that_are_chosen(panel: Panel) -> None:
    for target in panel.json(1, 0, 0)["targets"]:
        queries = re.findall(r"(?:errata_\w+|ray_\w+|ALERTS|\w+:\w+:\w+)\{([^}]*)\}", target["expr"])
        assert len(queries) == target["expr"].count(SCOPE)
        assert queries
        assert all(query.startswith(SCOPE) for query in queries)


@needs_prometheus
def test_prometheus_can_read_every_query(tmp_path: Path) -> None:
    """As the boards ask, with the choices made."""
    exprs = [
        fill_variables(target["expr"])
        for board in BOARDS
        for panel in load_board(board.name)["panels"]
        for target in panel.get("targets", [])
    ]
    rules = [{"record": f"query:{number}", "expr": expr} for number, expr in enumerate(exprs)]
    groups = {"groups": [{"name": "boards", "rules": rules}]}
    (tmp_path / "queries.yml").write_text(yaml.safe_dump(groups))
    assert f"{len(exprs)} rules found" in promtool("check", "rules", tmp_path / "queries.yml")


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_board_lets_choose_one_of_several_services(board: Board) -> None:
    choices = {choice["name"]: choice for choice in load_board(board.name)["templating"]["list"]}
    for name in ("namespace", "cluster"):
        assert (choices[name]["includeAll"], choices[name]["allValue"]) == (True, ".*")


def test_every_metric_of_the_service_is_in_a_picture() -> None:
    names = {
        name for board in BOARDS for panel in board.panels for line in panel.lines for name in _all(line.expr)
    }
    assert {name for name in page_names() if _stem(name) not in names} <= NOT_SHOWN


NOT_SHOWN = {
    "errata_audit_lost_total",  # an alert
    "errata_memory_rows_per_slot",  # of editors whose edits share slots, which none does by default
}


def _all(expr: str) -> set[str]:
    """Those included that are in the rules it asks for."""
    expressions = [expr, *(expression for rule, expression in RECORDING_RULES.items() if rule in expr)]
    return {_stem(name) for expression in expressions for name in metric_names(expression)}


def _stem(name: str) -> str:
    for ending in ("_bucket", "_sum", "_count"):
        name = name.removesuffix(ending)
    return name


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_no_picture_covers_another(board) -> None:
    cells: set[tuple[int, int]] = set()
    ids = []
    for panel in load_board(board.name)["panels"]:
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
