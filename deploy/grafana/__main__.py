"""Writes the boards as Grafana reads them: `python -m deploy.grafana`, after each change of a board."""

from __future__ import annotations

from pathlib import Path

from deploy.grafana.boards import BOARDS

FOLDER = Path(__file__).parent / "dashboards"


def write(folder: Path) -> None:
    for board in BOARDS:
        (folder / f"{board.name}.json").write_text(board.text())


if __name__ == "__main__":
    write(FOLDER)
