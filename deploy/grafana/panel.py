"""One picture of a board: what it asks Prometheus, how it is drawn, and the JSON that Grafana reads.

Grafana's own library for this (grafana-foundation-sdk) is an alpha that numbers its releases by the second; what is
needed of the format stands here on a page. Panels of its schema 39 are read by Grafana 10.4 and newer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

SCOPE = 'namespace=~"$namespace",cluster=~"$cluster"'  # which Errata, where one Prometheus watches several
METRIC = re.compile(r'"[^"]*"|\b(?:errata_\w+|ray_\w+|ALERTS\b|\w+:\w+:\w+)(?:\{(?!\}))?')
DATASOURCE = {"type": "prometheus", "uid": "$datasource"}
BLUE, GREEN, YELLOW, RED = "blue", "green", "yellow", "red"


@dataclass(frozen=True)
class Line:
    """A query. legend: how its series are called, with their labels as {{label}}."""

    expr: str
    legend: str


@dataclass(frozen=True)
class Limit:
    """From `value` on it is worse: `colour`."""

    value: float
    colour: str


@dataclass(frozen=True)
class Panel:
    """unit: Grafana's name of it. about: what to read from it, shown beside the title.

    kind: `lines` over time, `area` of parts that add up, `number` for now. limits: in ascending order.
    """

    title: str
    about: str
    unit: str
    lines: tuple[Line, ...]
    kind: Literal["lines", "area", "number"] = "lines"
    limits: tuple[Limit, ...] = ()

    @property
    def width(self) -> int:
        return 4 if self.kind == "number" else 8

    @property
    def height(self) -> int:
        return 4 if self.kind == "number" else 8

    def json(self, id: int, x: int, y: int) -> dict[str, Any]:
        """At a place of the board's grid, which is 24 wide."""
        style = _number() if self.kind == "number" else _over_time()
        return {
            **style,
            "id": id,
            "title": self.title,
            "description": self.about,
            "datasource": DATASOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "targets": [
                _target(letter, line, instant=self.kind == "number")
                for letter, line in zip("ABCDEFGH", self.lines, strict=False)
            ],
            "fieldConfig": {"defaults": self._defaults(), "overrides": []},
        }

    def _defaults(self) -> dict[str, Any]:
        steps: list[dict[str, Any]] = [{"color": GREEN if self.limits else BLUE, "value": None}]
        steps += [{"color": limit.colour, "value": limit.value} for limit in self.limits]
        defaults: dict[str, Any] = {
            "unit": self.unit,
            "min": 0,
            "thresholds": {"mode": "absolute", "steps": steps},
            "color": {"mode": "thresholds" if self.kind == "number" else "palette-classic"},
        }
        return defaults if self.kind == "number" else {**defaults, "custom": self._style()}

    def _style(self) -> dict[str, Any]:
        stacks = self.kind == "area"
        return {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 40 if stacks else 8,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"mode": "normal" if stacks else "none", "group": "A"},
            "thresholdsStyle": {"mode": "dashed" if self.limits else "off"},
        }


def scope(expr: str) -> str:
    """The query with each of its metrics limited to what the person at the screen has chosen."""
    return METRIC.sub(_scope_metric, expr)


def _scope_metric(match: re.Match[str]) -> str:
    name = match[0]
    if name.startswith('"'):
        return name
    return f"{name}{SCOPE}," if name.endswith("{") else f"{name}{{{SCOPE}}}"


def _target(letter: str, line: Line, instant: bool) -> dict[str, Any]:
    return {
        "refId": letter,
        "datasource": DATASOURCE,
        "expr": scope(line.expr),
        "legendFormat": line.legend,
        "instant": instant,
        "range": not instant,
        "editorMode": "code",
    }


def _over_time() -> dict[str, Any]:
    legend = {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []}
    return {"type": "timeseries", "options": {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}}}


def _number() -> dict[str, Any]:
    reduction = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    options = {"reduceOptions": reduction, "colorMode": "value", "graphMode": "none", "textMode": "auto"}
    return {"type": "stat", "options": {**options, "justifyMode": "auto", "orientation": "auto"}}
