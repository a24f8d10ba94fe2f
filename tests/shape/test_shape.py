"""Links and tables of the project's pages lead to what is there; those that do not are found."""

import pytest

from tests.shape.ideas import check_ideas
from tests.shape.limits import read_limits
from tests.shape.links import find_broken_links, list_pages
from tests.shape.sources import ROOT, parse, read_working_tree
from tests.shape.statements import count_statements, exceeded_weights, weigh
from tests.shape.tables import find_stale_tables


def test_the_limits_of_the_project_can_be_read():
    assert read_limits()["function"]["any"] <= 45


@pytest.mark.parametrize(
    ("text", "n_statements"),
    [
        ('"""Of a module."""\nimport a\nfrom b import c\n', 0),
        ('class A:\n    """Of a class."""\n', 1),
        ('def f():\n    """Of a function."""\n    "a text, but no docstring"\n    return 1\n', 3),
        ("if a: b = 1; c = 2\n", 3),
        ("a = [\n    1,\n    2,\n]\n", 1),
    ],
)
def test_statements_count_without_docstrings_and_imports(text, n_statements):
    assert count_statements(parse(text)) == n_statements


def test_the_product_is_weighed_without_the_tests():
    weights = weigh({"service/a.py": "a = 1\n", "clients/b/c.py": "d = 1\ne = 2\n", "tests/f.py": "g = 1\n"})
    assert (weights["product"], weights["tests"], weights["models"]) == (3, 1, 0)


def test_what_is_too_heavy_is_named():
    assert list(exceeded_weights({"service/a.py": "a = 1\nb = 2\n"}, {"product": 1, "tests": 0})) == [
        "product: 2 statements, at most 1 are allowed: find 1 that are no longer needed"
    ]


def test_every_link_of_the_project_leads_to_a_file_and_a_heading_that_exist():
    assert list(find_broken_links(list_pages())) == []


def test_a_link_to_a_file_or_a_heading_that_is_not_there_is_found(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b.md").write_text(
        "# Two words: here\n\n[up](#two-words-here) [away](https://host/x) `[code](x)`\n"
    )
    (tmp_path / "a" / "c.md").write_text(
        "[b](../b.md#two-words-here) [folder](../a) [b](../b.md#three) [x](x.md)\n"
    )
    assert list(find_broken_links(["a/c.md", "b.md"], tmp_path)) == [
        "a/c.md: ../b.md has no heading for #three",
        "a/c.md: the link to x.md leads nowhere",
    ]


LARGE = "    x = 1\n" * 12


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ('"""A.\n\nB begins,\nand goes on.\n\nC.\n"""\n', None),
        ('"""A.\n\nB.\n\nC is more.\n"""\n', 'second summary "B."'),
        ("A = 1\ndef b(): ...\nC = [b]\n", None),
        ("def b(): ...\nC = 1\n", "line 2 has a constant amid definitions"),
        (f"import os\ndef a():\n{LARGE}    os\ndef b():\n    os\n", None),
        (f"def a():\n{LARGE}def b():\n    a()\n{LARGE}", None),
        (f"from service.c import d\ndef a():\n    d\n{LARGE}def b():\n    d\n{LARGE}", None),
        (
            f"import os\ndef a():\n    os\n{LARGE}def b():\n    os\n{LARGE}",
            "what is around b shares no name with the rest",
        ),
    ],
)
def test_a_file_with_signs_of_two_ideas_is_named_unless_a_reason_is_known(text, sign):
    expected = [f"service/a.py: {sign}"] if sign else []
    assert list(check_ideas({"service/a.py": text, "tests/a.py": text}, {})) == expected
    complaints = list(check_ideas({"service/a.py": text}, {"service/a.py": "a reason"}))
    assert complaints == ([] if sign else ["service/a.py: remove it from [ideas], it has one idea"])


PAGE = "service/a/README.md"
MODULES = [
    "service/a/b.py",
    "service/a/__init__.py",
    "service/a/__main__.py",
    "service/a/c/d.py",
    "service/a/c/e.py",
]
WHOLE = "| file | what |\n|---|---|\n| `b.py` | x |\n| [c/](c/README.md) | y |\n"


@pytest.fixture
def find(tmp_path):
    """Return the complaints about a README of a folder with the files of MODULES."""
    for path in MODULES:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    return lambda text, page=PAGE: list(find_stale_tables({page: text}, MODULES, tmp_path))


def test_every_table_of_the_project_names_what_is_there():
    pages = {path: (ROOT / path).read_text("utf-8") for path in list_pages()}
    assert list(find_stale_tables(pages, read_working_tree())) == []


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        (WHOLE, []),
        ("| what | where |\n|---|---|\n| `x.py` | `b.py`, `c/d.py`, `e.py`, `../a/*.py`, `service/a` |\n", []),
        ("A folder without a table.\n", []),
        ("| figure | bar |\n|---|---|\n| `x.py` | 1 |\n", []),
        ("```\n| file |\n```\n" + WHOLE, []),
        (WHOLE + "| `e.py` | z |\n", ["a table names e.py, which does not exist"]),
        (WHOLE + "| `c/f.py`, `b.py` | z |\n", ["a table names c/f.py, which does not exist"]),
        (WHOLE.replace("| `b.py` | x |\n", ""), ["no table names b.py"]),
        (WHOLE.replace("b.py", "__main__.py"), ["no table names b.py"]),
        (WHOLE.replace("[c/](c/README.md)", "`b.py`"), ["no table names c"]),
        (WHOLE + "\n  | | this | |---|---| | one | 2 |\n", ["a table has no line |---| below its headings"]),
    ],
)  # fmt: skip
def test_a_table_names_each_module_and_subfolder_and_nothing_else(find, text, complaints):
    assert find(text) == [f"{PAGE}: {complaint}" for complaint in complaints]


def test_only_readmes_of_the_product_are_read(find):
    assert find("| file |\n|---|\n| `x.py` |\n", "tests/a/README.md") == []
    assert find("| file |\n|---|\n| `x.py` |\n", "service/a/NOTES.md") == []
