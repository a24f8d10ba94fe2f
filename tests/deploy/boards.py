"""The boards of deploy/grafana, as Grafana reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.cluster.running import ROOT

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

    @property
    def is_stacked(self) -> bool:
        style = self.json["fieldConfig"]["defaults"].get("custom", {"stacking": {"mode": "none"}})
        return style["stacking"]["mode"] == "normal"


def _list_panels() -> Iterator[Panel]:
    for name, board in BOARDS.items():
        row = ""
        for panel in board["panels"]:
            if panel["type"] == "row":
                row = panel["title"]
            else:
                yield Panel(name, row, panel)


PANELS = tuple(_list_panels())
