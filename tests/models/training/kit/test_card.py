"""A card has its figures in prose and tables for people, and as JSON for programs."""

import json
from pathlib import Path

from models.training.kit.card import fill_card


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
