"""A card has its prose in lines of one length, and tables with the heads that they were given."""

import json
from pathlib import Path

from models.training.kit.card import WIDTH, fill_card, fill_lines, table, write_card


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


def test_a_template_has_its_figures_and_tables(tmp_path: Path) -> None:
    template = tmp_path / "card.md"
    template.write_text(
        "# Title\n\n{minutes:.0f} minutes, {all[right]} % of {all[n]}.\n\n{groups}\n\n{edits}\n"
    )
    figures = {"all": {"n": 3, "right": 66.7}, "edits": {"n": 2, "refused": 1}}
    fill_card(tmp_path, template, figures, minutes=12.3)
    assert json.loads((tmp_path / "measured.json").read_text()) == figures
    card = (tmp_path / "README.md").read_text()
    table = "| | n | right |\n|---|---|---|\n| all | 3 | 66.7 |"
    assert card.startswith(f"# Title\n\n12 minutes, 66.7 % of 3.\n\n{table}\n\n| | n | refused |")
