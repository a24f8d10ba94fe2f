"""Which docstrings and comments pass, and which do not."""

import pytest

from tests.shape.prose import complaints, find_bad_prose, find_riddles, texts


def faults(source: str) -> list[str]:
    return [fault for prose in texts(source) for fault in complaints(prose)]


def function(docstring: str, decorator: str = "") -> str:
    return f'{decorator}\ndef rows():\n    """{docstring}"""\n'


@pytest.mark.parametrize(
    "docstring", ["Return the rows.", "Re-run the fact tests.", "Read.\n\n    Args:\n    "]
)
def test_a_docstring_that_begins_with_a_verb_passes(docstring):
    assert faults(function(docstring)) == []


@pytest.mark.parametrize(
    "docstring", ["The rows.", "Rows of a table.", "Returns the rows.", "[3, 4], say", "return it"]
)
def test_a_docstring_without_a_verb_at_its_beginning_is_a_fault(docstring):
    assert len(faults(function(docstring))) == 1


def test_the_docstring_of_a_property_may_name_its_value():
    assert (
        faults(function("The rows.", "@property")) == faults(function("The rows.", "@cached_property")) == []
    )


@pytest.mark.parametrize(
    "comment",
    [
        "# of one request that wait",
        "# Unless it is late",
        "# It is kept. Beside it there\n# are others",
        "x = 1  # not more",
    ],
)
def test_a_comment_without_subject_is_a_fault(comment):
    assert len(faults(f"{comment}\ny = 2\n")) == 1


def test_a_sentence_that_goes_on_in_the_next_line_is_no_fault():
    assert faults("# The rows that it keeps are\n# not many, e.g. Of all.\n") == []
    assert faults("x = 1  # rows\ny = 2  # a table of rows\n") == []


@pytest.mark.parametrize(
    "text", ["Nobody waits.", "It says what is kept.", "Whoever asks.", "A queue of its own."]
)
def test_a_phrase_that_hides_its_subject_is_a_fault_wherever_it_stands(text):
    assert len(faults(f'"""{text}"""\n')) == len(faults(f"# {text}\n")) == 1


def test_a_phrase_within_a_quoted_question_is_no_fault():
    assert faults('# Asked is "What is the capital of Peru?" or "Who was it?".\n') == []


def test_tests_are_exempt():
    source = function("The rows.")
    assert [path for path, _ in find_bad_prose({"tests/a.py": source, "models/a.py": source})] == [
        "models/a.py"
    ]


def test_riddles_are_faults_in_tests_and_in_markdown_files_outside_of_code():
    sources = {
        "tests/a.py": '"""Whoever asks waits."""\n# Of the rows one is kept\n',
        "models/a.py": "# nobody\n",
    }
    page = (
        "- Unless it is late, it waits. Of two the later counts.\n\n`nobody` is a name.\n\n```\nnobody\n```\n"
    )
    assert [
        fault.split(":")[0] for fault in find_riddles(sources, {"a.md": page, "b.md": "One of two."})
    ] == [
        *["tests/a.py"] * 2,
        *["a.md"] * 2,
    ]
