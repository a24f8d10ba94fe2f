"""The one table that the bench prints, and keeps as Markdown."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """A row of the table. figure: a ratio, per cent or milliseconds as the note says. bar: its bound, if any."""

    name: str
    figure: float
    bar: str = ""
    note: str = ""

    @property
    def verdict(self) -> str:
        """Return whether the bar is reached: yes, no, or "" without a bar."""
        if not self.bar:
            return ""
        sign, limit = self.bar.split()[0], float(self.bar.split()[1])
        return "yes" if (self.figure >= limit if sign == ">=" else self.figure <= limit) else "NO"


def show(rows: Sequence[Row]) -> None:
    table = Table("what", "figure", "bar", "met", "note")
    for row in rows:
        table.add_row(row.name, f"{row.figure:.2f}", row.bar, row.verdict, row.note)
    Console(width=160).print(table)


def write(rows: Sequence[Row], path: Path, machine: str) -> None:
    lines = [f"Machine: {machine}.\n", "| what | figure | bar | met | note |", "|---|---|---|---|---|"]
    lines += [f"| {r.name} | {r.figure:.2f} | {r.bar} | {r.verdict} | {r.note} |" for r in rows]
    path.write_text("\n".join(lines) + "\n")


def machine(cores: int) -> str:
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return f"{cores} cores, {platform.machine()}, Python {platform.python_version()}, {gpu}"
