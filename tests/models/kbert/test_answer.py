"""The scores that facts and context add to a candidate."""

from models.kbert.heads import Option, Options, support_candidates

OPTIONS = Options((Option("Oslo", 4.0), Option("Rome", 1.0)), no_answer=0.0)


def test_the_candidate_that_the_best_option_names_has_most_support() -> None:
    supports = support_candidates(OPTIONS, ["Rome", "He was born in OSLO.", "Paris"])
    assert supports[1] > 0 > supports[0] > supports[2]


def test_without_options_nothing_speaks_for_anyone() -> None:
    assert support_candidates(None, ["a", "b"]) == [0.0, 0.0]
    assert support_candidates(Options((), 0.0), ["a"]) == [0.0]


def test_doubt_is_no_evidence() -> None:
    (support,) = support_candidates(Options((Option("Oslo", -9.0),), no_answer=9.0), ["Paris"])
    assert abs(support) < 0.05
