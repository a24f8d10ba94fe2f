"""The card has a row for each group of the exam, and programs read the same figures."""

import json
from pathlib import Path

from models.training.relational.card import write_card
from models.training.relational.exam import Figures


def test_a_group_is_a_row_and_what_cannot_be_answered_has_no_best(tmp_path: Path) -> None:
    groups = {"2 hops": Figures(400, 85.25, 92.5, 99.1), "2 hops, unanswerable": Figures(10, 90.0, 0.0, 0.0)}
    write_card(tmp_path, groups, 33.4)
    card = (tmp_path / "README.md").read_text()
    assert "| 2 hops | 400 | 85.2 | 92.5 | 99.1 |" in card
    assert "| 2 hops, unanswerable | 10 | 90.0 |  |  |" in card
    assert "(33 minutes on two shared cores)" in " ".join(card.split())
    assert json.loads((tmp_path / "measured.json").read_text())["2 hops"]["faithful"] == 99.1
