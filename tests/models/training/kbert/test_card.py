"""The card says of every bar whether it was reached, and its prose is in lines of one length."""

from models.training.kbert.card import BARS, WIDTH, bars, fill_lines


def test_a_bar_that_is_missed_is_said_to_be() -> None:
    figures = {name: 96.0 for name, _, _ in BARS} | {
        "calibration_error": 2.0,
        "phrasings_wrong": 1.0,
        "relations": 79.9,
        "edits": 97.0,
    }
    rows = dict(zip([name for name, _, _ in BARS], list(bars(figures))[2:], strict=True))
    assert rows["relations"].endswith("| 79.9 | >= 80 **missed** |")
    assert rows["edits"].endswith("| 97.0 | >= 97 |")
    assert rows["calibration_error"].endswith("| 2.0 | <= 5 |")
    assert sum("missed" in row for row in rows.values()) == 1


def test_prose_isfill_lines_and_tables_are_left_alone() -> None:
    text = ["# Title\n", "word " * 40, "and more\n", "| a | b |", "| " + "c" * 200 + " |", "end\n"]
    lines = list(fill_lines(iter(text)))
    assert lines[0] == "# Title\n"
    assert all(len(line) <= WIDTH for line in lines[1:3])
    assert " ".join(lines[1:3]).split() == ["word"] * 40 + ["and", "more"]
    assert lines[3:] == ["", "| a | b |", "| " + "c" * 200 + " |", "end", ""]
