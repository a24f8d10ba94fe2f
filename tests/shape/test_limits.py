"""The limits refuse what exceeds them, and the project keeps them."""

from tests.shape.limits import (
    exceeded_budgets,
    exceeded_files,
    exceeded_lengths,
    exceeded_prose,
    exceeded_shapes,
    read_limits,
)

LONG = "def count():\n" + "    x = 1\n" * 49


def test_a_folder_with_more_than_its_budget_is_refused_with_all_that_it_holds():
    sources = {
        "models/nkb/a.py": "x = 1\n" * 30,
        "models/nkb/deep/b.py": "x = 1\n" * 30,
        "tests/a.py": "x = 1\n",
    }
    budgets = {"models": (60, 2), "models/nkb": (60, 2), "tests": (1, 1)}
    assert list(exceeded_budgets(sources, budgets)) == []
    lines, files = exceeded_budgets(sources, budgets | {"models/nkb": (50, 1)})
    assert lines.startswith("models/nkb: 60 lines, its budget is 50")
    assert files.startswith("models/nkb: 2 files, its budget is 1")


def test_a_new_folder_has_no_budget():
    sources = {"clients/python/errata/new/a.py": "x = 1\n"}
    budgets = {"clients": (9, 9), "clients/python/errata": (9, 9)}
    assert {sentence.split(":")[0] for sentence in exceeded_budgets(sources, budgets)} == {
        "clients/python/errata/new"
    }


def test_a_folder_with_too_many_files_is_refused():
    sources = {f"models/nkb/{name}.py": "" for name in ("a", "b", "c", "__init__")}
    assert (
        list(exceeded_files(sources, {"any": 3}))
        == list(exceeded_files(sources, {"any": 1, "models/nkb": 3}))
        == []
    )
    assert len(list(exceeded_files(sources, {"any": 2}))) == 1


def test_a_function_that_is_too_long_is_refused():
    assert list(exceeded_lengths({"models/a.py": LONG}, {"any": 45, "models/a.py:count": 50})) == []
    [complaint] = exceeded_lengths({"models/a.py": LONG}, {"any": 45})
    assert complaint == "models/a.py:1: count has 50 lines, 45 are allowed: split it"


def test_a_docstring_does_not_count_as_length():
    documentation = LONG.replace("x = 1", '"""Count.\n\n    Args:\n    """', 1)
    assert list(exceeded_lengths({"models/a.py": documentation}, {"any": 49})) == []


def test_an_area_whose_functions_are_too_long_in_the_middle_is_refused():
    [complaint] = exceeded_shapes({"models/a.py": LONG + LONG}, {"models": {"median_function": 6}})
    assert complaint == "models: median function is 50.0, at most 6 is allowed"


def test_faults_of_prose_are_listed_once_there_are_more_than_the_folder_may_have():
    sources = {"models/a.py": "# of a row\n"}
    assert list(exceeded_prose(sources, {"models": 1})) == []
    assert list(exceeded_prose(sources, {})) == [
        "models/a.py:1: a sentence begins with 'of': give it a subject and a verb",
        "models: 1 faults of prose, at most 0 are allowed",
    ]


def test_the_limits_of_the_project_can_be_read():
    assert read_limits()["files"]["any"] <= 14
