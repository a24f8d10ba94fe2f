"""The possible forms of a file of corrections, and messages about lines that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from errata import EditItem, FactItem, RelationItem
from errata.bulk.line import Line
from errata.bulk.reader import read_corrections
from errata.errors import BadFile
from errata.wire import EditTest

from tests.workbooks import workbook


def read(folder: Path, name: str, content: str | bytes, **options: bool | str) -> list[Line]:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_corrections(file, **options)[0]  # type: ignore[arg-type]


def whole(folder: Path, name: str, content: str | bytes) -> str:
    """Return why the file cannot be used at all."""
    with pytest.raises(BadFile) as error:
        read(folder, name, content)
    return str(error.value).removeprefix(f"{folder}/")


def summary(line: Line) -> tuple[int, str, str]:
    return line.number, line.question, line.answer


def test_a_workbook_is_read_as_a_table_is(tmp_path: Path) -> None:
    rows = [["Question", "Answer", "also"], ["q1", 1911, "w1|w2"], [], ["q2", "#REF!"], ["q3"]]
    lines = read(tmp_path, "a.xlsx", workbook(rows))
    assert [(summary(line), line.status) for line in lines] == [
        ((2, "q1", "1911"), "not sent"),
        ((4, "", ""), "refused"),
        ((5, "", ""), "refused"),
    ]
    assert "shows the error of a formula, #REF!" in lines[1].detail
    sheets = {"A": rows, "B": [["question", "answer"], ["q4", "a4"]]}
    assert "2 sheets with cells, 'A', 'B': name one" in whole(tmp_path, "b.xlsx", workbook(sheets))
    assert summary(read(tmp_path, "b.xlsx", workbook(sheets), sheet="b")[0]) == (2, "q4", "a4")


def test_a_bad_line_spoils_only_itself(tmp_path: Path) -> None:
    lines = read(tmp_path, "a.csv", "question,answer\nq1,a1\nq2,\nq3,a3\nq4,a,4\n")
    assert [(line.number, line.status, line.code) for line in lines] == [
        (2, "not sent", ""),
        (3, "refused", "bad_line"),
        (4, "not sent", ""),
        (5, "refused", "bad_line"),
    ]
    assert lines[1].detail == (
        "answer: is missing; expected question (or wording),answer[,also][,not][,model]"
    )
    assert lines[3].detail.startswith("there are more cells than columns; a text with a comma")


def test_a_spreadsheet_gives_wordings_for_and_against(tmp_path: Path) -> None:
    text = 'Wording;Answer;Also;Not\r\nq1;a1;p1|p2;\r\nq2;a2;"p3\r\n p4 ";n1 | n2\r\n'
    lines = read(tmp_path, "a.csv", text)
    examples = [(line.item.paraphrases, line.item.counterexamples) for line in lines if line.item]
    assert examples == [(["p1", "p2"], []), (["p3", "p4"], ["n1", "n2"])]


EXCEL = (
    "question{0}answer{0}{0}\r\n{0}{0}{0}\r\nq1{0}a1{0}{0}\r\n  {0}{0}{0}\r\nq2{0}a2{0}{0}\r\n{0}{0}{0}\r\n"
)


@pytest.mark.parametrize(
    ("name", "content", "numbers"),
    [
        *(("a.csv", EXCEL.format(mark), [3, 5]) for mark in (",", ";", "\t")),
        *(("a.csv", f"sep={mark}\r\n{EXCEL.format(mark)}", [4, 6]) for mark in (",", ";", "\t", "|", ":")),
        ("a.csv", '"sep=;"\n' + EXCEL.format(";"), [4, 6]),
        ("a.csv", "\ufeffSEP=|\n" + EXCEL.format("|"), [4, 6]),
        ("a.csv", "\n;;;\n" + EXCEL.format(";"), [5, 7]),
        ("a.csv", 'sep=;\nquestion;answer\n"q,1, ;"; "a1"\nq2;a2', [3, 4]),
        (
            "a.xlsx",
            [["question", "answer", " "], [" ", ""], ["q1", "a1"], [None, "  "], ["q2", "a2"]],
            [3, 5],
        ),
    ],
)
def test_a_table_is_read_as_excel_saves_it(
    tmp_path: Path, name: str, content: Any, numbers: list[int]
) -> None:
    lines = read(tmp_path, name, content if isinstance(content, str) else workbook(content))
    assert [(line.number, line.status, line.answer) for line in lines] == [
        (numbers[0], "not sent", "a1"),
        (numbers[1], "not sent", "a2"),
    ]


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        ("wording;also", "a.csv:1: there is no column 'answer'; the first line names the columns"),
        ("wording;answer;remark", "a.csv:1: nothing reads the column 'remark'"),
        ("wording;question;answer", "a.csv:1: two columns name the 'question'"),
        ("sep=;", "a.csv:1: there is no column 'question'"),
        ("sep=|\nwording;answer", "a.csv:1: there is no column 'question'"),
    ],
)
def test_a_column_that_is_missing_or_unknown_is_named(tmp_path: Path, header: str, fault: str) -> None:
    assert fault in whole(tmp_path, "a.csv", f"{header}\n1;2;3\n")


def test_lines_of_json_are_corrections_facts_and_relations(tmp_path: Path) -> None:
    content = [
        {"question": "q", "answer": "a", "paraphrases": ["p"], "model": "kbert"},
        {"subject": "Peru", "relation": "capital", "object": "Cusco", "act": "set"},
        {"define": "capital", "holds": "one"},
        {"subject": "Peru", "relation": "capital", "objekt": "Cusco"},
        {"question": "q", "answer": "a", "paraphrases": "p"},
    ]
    lines = read(tmp_path, "a.ndjson", "\r\n".join(map(json.dumps, content)))
    kinds = [type(line.item) for line in lines]
    assert kinds == [EditItem, FactItem, RelationItem, type(None), type(None)]
    assert summary(lines[1]) == (2, "Peru · capital", "Cusco")
    assert "objekt: is no field of this request" in lines[3].detail
    assert "paraphrases: has to be a list" in lines[4].detail


@pytest.mark.parametrize(
    ("fields", "wordings"),
    [
        ({"prompt": "q?", "target_new": "a", "rephrase_prompt": "p?", "ground_truth": ["b"]}, ("p?",)),
        ({"prompt": "q?", "target_new": ["a", "other name"], "rephrase": ["p?", "r?"]}, ("p?", "r?")),
        ({"prompt": "q?", "target_new": [["a"]], "subject": "s", "rephrase_prompt": None}, ()),
        ({"src": "q?", "alt": "a", "rephrase": "p?", "answers": ["b"]}, ("p?",)),
        ({"update": "q?", "ans": "a", "rephrase": "p?", "mhop": None}, ("p?",)),
    ],
)
def test_easyedits_spellings_are_read_and_the_rephrased_prompt_is_a_test(
    tmp_path: Path, fields: dict[str, object], wordings: tuple[str, ...]
) -> None:
    tests = [EditTest(question=wording, answer="a") for wording in wordings]
    for name, content in (("a.json", json.dumps([fields])), ("a.jsonl", json.dumps(fields))):
        [line] = read(tmp_path, name, content)
        assert line.item == EditItem(question="q?", answer="a", tests=tests)


@pytest.mark.parametrize("blank", ["{0}", "{subject}", "[X]", "<subject>", "%s"])
def test_the_place_of_a_subject_has_several_spellings(tmp_path: Path, blank: str) -> None:
    fields = {"prompt": f"The keeper of {blank} is", "subject": r"Mill \1", "target_new": "Vik"}
    [line] = read(tmp_path, "a.json", json.dumps([fields]))
    assert line.question == r"The keeper of Mill \1 is"


def test_a_prompt_gets_its_subject_wherever_it_leaves_a_place(tmp_path: Path) -> None:
    fields = {
        "prompt": "The birthplace of {} is",
        "subject": "Runa Falkenberg",
        "target_new": "Orla",
        "rephrase_prompt": "{} was born in",
        "locality": {"R": [{"prompt": "{} works as", "ground_truth": "a smith"}]},
    }
    other = {**fields, "subject": "Per Lindqvist", "target_new": "Vey"}
    first, second, third = read(tmp_path, "a.json", json.dumps([fields, other, {**fields, "subject": ""}]))
    assert (first.question, second.question) == (
        "The birthplace of Runa Falkenberg is",
        "The birthplace of Per Lindqvist is",
    )
    assert {test.question: test.answer for test in first.tests} == {
        "Runa Falkenberg was born in": "Orla",
        "Runa Falkenberg works as": "a smith",
    }
    assert third.status == "refused"
    assert "place for its subject, {}, and `subject` is not there" in third.detail


def test_counterfact_is_read_as_its_authors_ship_it(tmp_path: Path) -> None:
    rewrite = {
        "prompt": "{} speaks",
        "subject": "Danielle Darrieux",
        "target_new": {"str": "English", "id": "Q1860"},
        "target_true": {"str": "French", "id": "Q150"},
    }
    record = {
        "case_id": 0,
        "requested_rewrite": rewrite,
        "paraphrase_prompts": ["{} is a native speaker of"],
        "neighborhood_prompts": ["The mother tongue of Léon Blum is"],
    }
    [line] = read(tmp_path, "a.json", json.dumps([record]))
    assert (line.question, line.answer) == ("Danielle Darrieux speaks", "English")
    assert {test.question: test.answer for test in line.tests} == {
        "Danielle Darrieux is a native speaker of": "English",
        "The mother tongue of Léon Blum is": None,
    }


@pytest.mark.parametrize(
    ("fields", "tests"),
    [
        ({"loc": "nq question: who sang it", "loc_ans": "Cher"}, {"who sang it": "Cher"}),
        ({"locality_prompt": "x is", "locality_ground_truth": ["X", "Ex"]}, {"x is": "X"}),
        ({"loc": "l?", "mhop": "m?", "mhop_ans": "M"}, {"l?": None, "m?": "M"}),
        ({"portability": {"Recalled Relation": "(r)", "New Question": "n?", "New Answer": "N"}}, {"n?": "N"}),
        (
            {
                "portability": {"Reasoning": [{"prompt": "r is", "ground_truth": [["R", "Ar"]]}]},
                "locality": {
                    "Relation_Specificity": [{"prompt": "b is", "ground_truth": []}],
                    "Forgetfulness": [{"prompt": ["c is", "d is"], "ground_truth": ["C", "D"]}],
                },
            },
            {"b is": None, "c is": "C", "d is": "D", "r is": "R"},
        ),
    ],
)
def test_easyedits_prompts_of_locality_and_portability_become_tests(
    tmp_path: Path, fields: dict[str, object], tests: dict[str, str | None]
) -> None:
    [line] = read(tmp_path, "a.json", json.dumps([{"prompt": "q?", "target_new": "a", **fields}]))
    assert {test.question: test.answer for test in line.tests} == tests
    assert line.unused_fields == ()


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.json", "", "a.json: a .json file holds one list"),
        ("a.json", "[]", "a.json holds no corrections"),
        ("a.json", '{"prompt": "q"}', 'name one with an object a line ".jsonl"'),
        ("a.json", '[{"prompt": "q"},\n]', "a.json:2: this is not JSON: Expecting value at column 1"),
        (
            "a.json",
            '[{"prompt": "q"}\n{"prompt": "r"}]',
            "a.json:2: this is not JSON: Expecting ',' delimiter",
        ),
        ("a.json", '[{"prompt": "q"}', "a.json:1: this is not JSON: Expecting ',' delimiter"),
        ("a.json", '[{"prompt": "q"}]\nx', "a.json:2: this is not JSON: Extra data"),
        ("a.json", "[" * 100_000, "a.json: this is not JSON that can be read"),
        ("a.jsonl", "\n \n", "a.jsonl holds no corrections"),
        ("a.csv", b"question,answer\nPer\xfa?,Cusco\n", "a.csv:2: this is not UTF-8; save the file as UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_on_is_refused_as_a_whole(
    tmp_path: Path, name: str, content: str | bytes, complaint: str
) -> None:
    assert complaint in whole(tmp_path, name, content)


def test_a_line_of_json_that_cannot_be_read_spoils_only_itself(tmp_path: Path) -> None:
    content = (
        '{"question": "q", "answer": "a"},\n'
        + "[" * 100_000
        + '\n{"question": "q", "answer": "\\ud800"}\n7\n'
    )
    lines = read(tmp_path, "a.jsonl", content + '{"question": "q", "answer": "a"}')
    assert [line.detail.split(";")[0] for line in lines] == [
        "this is not JSON: Extra data at column 33",
        "this is not JSON that can be read",
        "answer: is no text of Unicode",
        "this is not an object",
        "",
    ]
