"""The card says of every bar whether it was reached."""

from models.training.kbert.card import BARS, bars


def test_a_bar_that_is_missed_is_said_to_be() -> None:
    figures = {name: 96.0 for name, _, _ in BARS} | {
        "calibration_error": 2.0,
        "phrasings_wrong": 1.0,
        "relations": 79.9,
        "edits": 97.0,
    }
    rows = dict(zip([name for name, _, _ in BARS], list(bars(figures))[2:-1], strict=True))
    assert rows["relations"].endswith("| 79.9 | >= 80 **missed** |")
    assert rows["edits"].endswith("| 97.0 | >= 97 |")
    assert rows["calibration_error"].endswith("| 2.0 | <= 5 |")
    assert sum("missed" in row for row in rows.values()) == 1
