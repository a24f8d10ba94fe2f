"""A warning of a file is shown once for each kind."""

from pathlib import Path

from errata.bulk.line import Line
from errata.bulk.run import FileRun
from errata.cli.render.bulk import draw_run
from rich.console import Console


def test_many_lines_with_one_warning_are_one_line(tmp_path: Path) -> None:
    file = tmp_path / "edits.csv"
    file.write_text("question,answer\nWho?,I\n")
    run = FileRun(file)
    run.lines = [
        Line(n, f"edits.csv:{n}", status="done", holds=True, warnings=[f"'Who leads {n}?' is near ({n} %)"])
        for n in range(1, 6)
    ]
    run.lines[4].warnings.append("the answer is long")
    console = Console(width=200)
    with console.capture() as capture:
        console.print(draw_run(run))
    lines = [line.strip() for line in capture.get().splitlines() if "warning" in line]
    assert lines == [
        "warning, 5 times (edits.csv:1, edits.csv:2, edits.csv:3 and 2 more): ... is near (...)",
        "warning (edits.csv:5): the answer is long",
    ]
