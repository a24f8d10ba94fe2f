"""A card has its prose in lines of one length, and tables with the heads that they were given."""

import json
from pathlib import Path

from models.training.kit.card import WIDTH, fill_lines, table, write_card


def test_prose_is_wrapped_and_tables_are_left_alone() -> None:
    text = ["# Title\n", "word " * 40, "and more\n", "| a | b |", "| " + "c" * 200 + " |", "end\n"]
    lines = list(fill_lines(iter(text)))
    assert lines[0] == "# Title\n"
    assert all(len(line) <= WIDTH for line in lines[1:3])
    assert " ".join(lines[1:3]).split() == ["word"] * 40 + ["and", "more"]
    assert lines[3:] == ["", "| a | b |", "| " + "c" * 200 + " |", "end", ""]


def test_programs_and_people_read_the_same_figures(tmp_path: Path) -> None:
    write_card(tmp_path, {"exact": 93.5}, ["# Title\n", *table("| exact", [["all", 93.5]]), "So it is.\n"])
    assert json.loads((tmp_path / "measured.json").read_text()) == {"exact": 93.5}
    assert (
        tmp_path / "README.md"
    ).read_text() == "# Title\n\n| | exact |\n|---|---|\n| all | 93.5 |\n\nSo it is.\n\n"
