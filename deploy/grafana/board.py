"""A dashboard: rows of panels, put side by side from left to right, and what the person at the screen may choose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from deploy.grafana.panel import DATASOURCE, Panel, scope

COLUMNS = 24


@dataclass(frozen=True)
class Row:
    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Board:
    """name: of its file and, with `errata-` before it, of its address. models: a query for the names to choose from."""

    name: str
    title: str
    about: str
    rows: tuple[Row, ...]
    models: str | None = None

    @property
    def panels(self) -> list[Panel]:
        return [panel for row in self.rows for panel in row.panels]

    def text(self) -> str:
        """The file that Grafana reads."""
        return json.dumps(self.json(), indent=1, ensure_ascii=False) + "\n"

    def json(self) -> dict[str, Any]:
        return {
            "uid": f"errata-{self.name}",
            "title": f"Errata / {self.title}",
            "description": self.about,
            "tags": ["errata"],
            "schemaVersion": 39,
            "version": 1,
            "editable": True,
            "graphTooltip": 1,
            "refresh": "30s",
            "time": {"from": "now-1h", "to": "now"},
            "timezone": "browser",
            "links": [_siblings()],
            "annotations": {"list": [_commits()]},
            "templating": {"list": list(self._choices())},
            "panels": list(self._panels_json()),
        }

    def _choices(self) -> Iterator[dict[str, Any]]:
        yield {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
        yield _choice("namespace", "label_values(errata_processes, namespace)")
        yield _choice("cluster", 'label_values(errata_processes{namespace=~"$namespace"}, cluster)')
        if self.models is not None:
            yield _choice("model", self.models)

    def _panels_json(self) -> Iterator[dict[str, Any]]:
        id = y = 0
        for row in self.rows:
            id += 1
            yield _heading(row.title, id, y)
            x, y, lowest = 0, y + 1, y + 1
            for panel in row.panels:
                if x + panel.width > COLUMNS:
                    x, y = 0, lowest
                id += 1
                yield panel.json(id, x, y)
                x, lowest = x + panel.width, max(lowest, y + panel.height)
            y = lowest


def _choice(label: str, query: str) -> dict[str, Any]:
    """One value of a label, several, or all: series without the label too."""
    return {
        "name": label,
        "label": label.capitalize(),
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": label},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _heading(title: str, id: int, y: int) -> dict[str, Any]:
    place = {"x": 0, "y": y, "w": COLUMNS, "h": 1}
    return {"type": "row", "title": title, "id": id, "gridPos": place, "collapsed": False, "panels": []}


def _siblings() -> dict[str, Any]:
    """The other boards, at the top of each."""
    link = {"type": "dashboards", "tags": ["errata"], "asDropdown": False, "keepTime": True}
    return {**link, "title": "Errata", "includeVars": False, "targetBlank": False}


def _commits() -> dict[str, Any]:
    """A mark on every picture where the knowledge was changed."""
    return {
        "name": "Commits",
        "enable": True,
        "iconColor": "purple",
        "datasource": DATASOURCE,
        "expr": scope("changes(max(errata_ledger_version)[1m:15s]) > 0"),
        "step": "60s",
        "titleFormat": "The knowledge was changed",
    }
