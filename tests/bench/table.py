"""The one table that the bench prints."""

from collections.abc import Sequence
from dataclasses import dataclass

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
