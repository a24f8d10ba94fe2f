"""The card gives the number of questions for each share of editing, and the number of refused edits."""

from models.training.card import edits_table
from models.training.edits import EditFigures, Share


def test_each_share_of_editing_stands_beside_the_number_of_its_questions() -> None:
    shares = (Share(93, 100), Share(51, 100), Share(980, 1000), Share(50, 63), Share(1000, 1000))
    head, rule, row, _ = edits_table({"value surgery, 100 edits": EditFigures(100, 7, *shares, 41.4)})
    assert row == (
        "| value surgery, 100 edits | 7 | 93.0 (100) | 51.0 (100) | 98.0 (1,000) | 79.4 (63) | 100.0 (1,000) | 41 |"
    )
    assert head.count("|") == rule.count("|") == row.count("|")
