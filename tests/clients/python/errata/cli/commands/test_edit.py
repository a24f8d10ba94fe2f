"""`errata edit`: the receipt of a change, and a whole file as one commit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from errata import wire
from errata.cli.render.effects import PACK, draw_other_answers
from errata.cli.render.receipt import draw_edits, draw_headline
from errata.cli.session import Page

PERU, PERU_TOO = "What is the capital of Peru?", "Peru's capital city?"


CSV_LINE = "question (or wording),answer[,also][,not][,model]"
HEADER = f"the first line names the columns, as in {CSV_LINE}, with commas, semicolons or tabs"
JSONL_LINE = '{"question": "...", "answer": "..."} with paraphrases, a list, and model if wanted'


def last_body(tiny: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(tiny.requests[-1][1])
    return body


def test_a_curator_reads_what_changed_which_version_it_is_and_who_has_it(run: Any) -> None:
    result = run("edit", PERU, "Cusco", "--also", PERU_TOO, "-m", "try")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "Version 1: 1 edit. Every replica has it.\n"
        "  What is the capital of Peru?\n"
        "    ✓ Lima → Cusco\n"
        "  also Peru's capital city?\n"
        "    ✓ Lima → Cusco\n"
        "No other answer of the facts that Errata came with changed: 12,722 questions compared.\n"
        "Take it back: errata revert 1\n"
    )


def test_every_option_reaches_the_service(run: Any, tiny: Any) -> None:
    options = (
        "--message",
        "m",
        "--method",
        "surgery",
        "--model",
        "kbert",
        "--expect",
        "0",
        "--dry-run",
        "--strict",
        "--no-wait",
    )
    assert run("edit", "q", "a", "--also", "p1", "--also", "p2", *options).exit_code == 0
    edit = {"question": "q", "answer": "a", "paraphrases": ["p1", "p2"], "model": "kbert"}
    assert last_body(tiny) == {
        "edits": [edit],
        "message": "m",
        "method": "surgery",
        "expected_version": 0,
        "dry_run": True,
        "strict": True,
        "wait": "none",
    }


def test_a_dry_run_says_that_nothing_was_changed(run: Any, tiny: Any) -> None:
    result = run("edit", PERU, "Cusco", "--dry-run")
    assert result.stdout.startswith("Dry run: 1 edit would do this; nothing was changed.\n")
    assert "Take it back" not in result.stdout
    assert tiny.head == 0


def test_a_dry_run_of_what_is_answered_so_already_says_so(tiny: Any) -> None:
    edit = wire.EditItem(question=PERU, answer="Lima")
    report = tiny.report([edit], 0)
    idle = report.edits[0].model_copy(update={"id": ""})
    report = report.model_copy(update={"edits": [idle]})
    receipt = wire.EditReceipt(version=None, kind="edit", report=report, replicas=[], all_applied=False)
    assert draw_headline(receipt, "1 edit").plain.startswith("Dry run: all of it is answered so already")


def test_a_replica_that_lags_is_named(run: Any, tiny: Any) -> None:
    tiny.replica_lags = True
    result = run("edit", PERU, "Cusco")
    assert result.exit_code == 0
    assert "1 of 2 replicas did not confirm it in time: nkb#2 (at version 0)." in result.stdout


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_receipt_reads_the_same_on_every_machine(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """The number of replicas follows from the number of cores."""
    replica = tiny.replicas()[0]
    monkeypatch.setattr(tiny, "replicas", lambda: [replica] * count)
    assert run("edit", PERU, "Cusco").stdout.startswith("Version 1: 1 edit. Every replica has it.\n")


def test_what_went_wrong_besides_is_shown(run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tiny.report([wire.EditItem(question=PERU, answer="Cusco", paraphrases=[PERU_TOO])], 0)
    edit = plain.edits[0]
    failing = edit.paraphrases[0].model_copy(update={"after": "Lima", "follows": False})
    report = plain.model_copy(
        update={
            "edits": [edit.model_copy(update={"paraphrases": [failing], "warnings": ["the margin is thin"]})],
            "side_effects": [wire.SideEffect(question="Chile?", before="Santiago", after=None)],
            "broken_tests": [
                wire.BrokenTest(edit="e0", version=3, question="Bolivia?", expected="Sucre", actual="La Paz")
            ],
        }
    )
    monkeypatch.setattr(tiny, "report", lambda *_: report)
    result = run("edit", PERU, "Cusco")
    text = result.stdout
    assert result.exit_code == 5
    assert "✗ Lima → Lima  (wanted: Cusco)" in text
    assert "  warning: the margin is thin\n" in text
    assert (
        "1 other answer of the facts that Errata came with changed too (12,722 questions compared):" in text
    )
    assert ["Chile?", "Santiago", "→", "not", "sure"] in [line.split() for line in text.splitlines()]
    assert "1 earlier edit no longer holds:" in text
    assert [word for word in ("3", "Bolivia?", "Sucre", "La Paz") if word not in text] == []


def test_edits_are_counted_not_wordings_and_what_is_not_told_is_said(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tiny.report([wire.EditItem(question=PERU, answer="Cusco")], 0)
    broken = [
        wire.BrokenTest(edit=edit, version=3, question=f"q{n}", expected="Sucre", actual="La Paz")
        for n, edit in enumerate(["e0", "e0", "e1"])
    ]
    changes = {"broken_tests": broken, "edits_left_out": 4_000}
    monkeypatch.setattr(tiny, "report", lambda *_: plain.model_copy(update=changes))
    text = run("edit", PERU, "Cusco").stdout
    assert "2 earlier edits no longer hold:" in text
    assert "4,000 older edits of this commit are not listed here: errata diff compares" in text


def test_what_is_superseded_is_told_with_the_version_that_made_it(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tiny.report([wire.EditItem(question=PERU, answer="Cusco")], 0)
    earlier = wire.SupersededTest(
        edit="e0", version=3, question=PERU, expected="Puno", actual="Cusco", by="e1", by_version=4
    )
    monkeypatch.setattr(tiny, "report", lambda *_: plain.model_copy(update={"superseded_tests": [earlier]}))
    lines = run("edit", PERU, "Cusco").stdout.splitlines()
    place = lines.index("1 earlier edit is replaced, and will be back if this is taken back:")
    assert lines[place + 2].split() == ["3", *PERU.split(), "Puno", "Cusco", "4"]


def test_other_questions_whose_edits_were_named_are_told_of_first(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tiny.report([wire.EditItem(question=PERU, answer="Cusco")], 0)
    earlier = wire.SupersededTest(
        edit="e0", version=7, question="q", expected="a", actual="Cusco", by="e1", by_version=8
    )
    broken = wire.BrokenTest(edit="e2", version=3, question="r", expected="b", actual="c")
    changes = {"superseded_tests": [earlier], "broken_tests": [broken]}
    monkeypatch.setattr(tiny, "report", lambda *_: plain.model_copy(update=changes))
    for words in (("--dry-run",), ()):
        lines = run("edit", PERU, "Cusco", "--replaces", "7", *words).stdout.splitlines()
        assert lines[1].startswith("This takes the place of 1 earlier edit with other questions")
        assert lines[3].split() == ["7", "q", "a", "Cusco", "8"]


def test_what_a_revert_puts_back_unasked_is_taken_back_by_a_revert(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("edit", PERU, "Cusco")
    plain = tiny.report([], 0)
    earlier = wire.SupersededTest(
        **{"edit": "e0", "version": 3, "question": "q", "expected": "a", "actual": "Cusco", "by": "e1"},
        **{"by_version": 4, "on_purpose": False},
    )
    monkeypatch.setattr(tiny, "report", lambda *_: plain.model_copy(update={"superseded_tests": [earlier]}))
    lines = run("revert", "1").stdout.splitlines()
    assert (
        lines[4]
        == "If that is right, take back the earlier: errata revert 3; if not, take this version back."
    )


def test_an_edit_whose_place_is_taken_unasked_is_told_of_first(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tiny.report([wire.EditItem(question=PERU, answer="Cusco")], 0)
    earlier = wire.SupersededTest(
        edit="e0",
        version=3,
        question="q",
        expected="a",
        actual="Cusco",
        by="e1",
        by_version=4,
        on_purpose=False,
    )
    monkeypatch.setattr(tiny, "report", lambda *_: plain.model_copy(update={"superseded_tests": [earlier]}))
    result = run("edit", PERU, "Cusco")
    assert result.exit_code == 5
    lines = result.stdout.splitlines()
    assert lines[1] == "This takes the place of 1 earlier edit that it was not told to replace:"
    assert lines[3].split() == ["3", "q", "a", "Cusco", "4"]
    advice = 'repeat it with --replaces 3 if that is right, else with --not "q".'
    assert lines[4] == f"Take it back and {advice}"


def test_examples_against_an_edit_and_whom_it_replaces_are_sent(run: Any, tiny: Any) -> None:
    run("edit", PERU, "Cusco", "--not", "mayor of Peru?", "--replaces", "3", "--replaces", "0123456789ab")
    (item,) = json.loads(tiny.requests[-1][1])["edits"]
    assert item["counterexamples"] == ["mayor of Peru?"]
    assert item["replaces"] == [3, "0123456789ab"]


def test_tests_of_an_edit_are_sent_and_shown(run: Any, tiny: Any) -> None:
    stays, follows = "What is the capital of Chile?", "In which country is Cusco, by 2+2=4?"
    run("edit", PERU, "Cusco", "--test", stays, "--test", f"{follows}=Peru")
    (item,) = json.loads(tiny.requests[-1][1])["edits"]
    assert item["tests"] == [{"question": stays}, {"question": follows, "answer": "Peru"}]
    lines = run("show", "1").stdout.splitlines()
    assert f"test {stays}  not sure" in lines
    assert f"test {follows}  Peru" in lines


def test_a_test_that_fails_in_a_dry_run_ends_as_one_that_does_not_hold(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tiny.report([wire.EditItem(question=PERU, answer="Cusco")], 0)
    for follows, code in ((True, 0), (False, 5)):
        test = wire.ParaphraseReport(question="Chile?", before=None, after=None, follows=follows)
        report = plain.model_copy(update={"edits": [plain.edits[0].model_copy(update={"tests": [test]})]})
        monkeypatch.setattr(tiny, "report", lambda *_, report=report: report)
        assert run("edit", PERU, "Cusco", "--test", "Chile?", "--dry-run").exit_code == code


def test_warnings_of_one_edit_are_told_whole(run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tiny.report([wire.EditItem(question=PERU, answer="Cusco")], 0)
    warnings = [f"'Peru {number}' is judged another question ({number} %)" for number in range(5)]
    edits = [plain.edits[0].model_copy(update={"warnings": warnings})]
    monkeypatch.setattr(tiny, "report", lambda *_: plain.model_copy(update={"edits": edits}))
    text = run("edit", PERU, "Cusco").stdout
    assert all(f"  warning: {warning}\n" in text for warning in warnings[:3])
    assert "  warning: 2 more of this kind\n" in text


def test_where_the_edit_ends_is_shown(run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tiny.report([wire.EditItem(question=PERU, answer="Cusco")], 0)
    near = [
        wire.NearQuestion(question="Name Peru's capital", probability=0.98, follows=True),
        wire.NearQuestion(question="Largest city of Peru?", probability=0.2, version=3, answer="Lima"),
        wire.NearQuestion(question="Who is the mayor of Lima?", probability=0.034),
    ]
    rewordings = [
        wire.ParaphraseReport(question=question, before="Lima", after=after, follows=after == "Cusco")
        for question, after in (("Peru's capital?", "Cusco"), ("Peru: its capital", "Lima"))
    ]
    changes = {"near_questions": near, "generated_paraphrases": rewordings}
    edit = plain.edits[0].model_copy(update=changes)
    monkeypatch.setattr(tiny, "report", lambda *_: plain.model_copy(update={"edits": [edit]}))
    result = run("edit", PERU, "Cusco")
    assert [line.split("  ", 2)[-1].split() for line in result.stdout.splitlines()[3:8]] == [
        line.split()
        for line in (
            "near, follows too Name Peru's capital",
            "near, stays Largest city of Peru? Lima, by version 3",
            "Who is the mayor of Lima?",
            "tried, follows Peru's capital?",
            "tried, does not Peru: its capital Lima → Lima",
        )
    ]
    assert result.exit_code == 0  # these wordings were generated
    assert "3 % likely the same" in run("edit", PERU, "Puno", "-v").stdout


def test_how_full_the_memory_is_and_a_warning_of_it_are_shown(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tiny.report([wire.EditItem(question=PERU, answer="Cusco")], 0)
    room = wire.Capacity(
        slots_used=3_000, slots_reserved=4_096, rows_per_slot=0.73, margin=0.5, warnings=["nearly full"]
    )
    monkeypatch.setattr(tiny, "report", lambda *_: plain.model_copy(update={"capacity": room}))
    text = run("edit", PERU, "Cusco", "-v").stdout
    assert "warning: nearly full\n" in text
    assert "all edits take 3,000 slots of 4,096 · 0.73 rows per slot · margin 0.50 · editor" in text


@pytest.mark.parametrize("terminal", [True, False])
def test_in_a_terminal_a_changed_answer_is_a_link_to_where_it_can_be_seen(
    monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1" if terminal else "")
    link = wire.Link(before="/v1/answers?version=0", after="/v1/answers?version=1")
    changed = [wire.SideEffect(question="Chile?", before="Santiago", after="Arica", link=link)]
    page = Page("http://errata:8000", stderr=False, width=80)
    with page.capture() as capture:
        page.print(*draw_other_answers(PACK, changed, 200, 0))
    links = re.findall(r"\x1b]8;id=\d+;([^\x1b]+)\x1b\\(\w+)", capture.get())
    expected_links = [
        (f"http://errata:8000{link.before}", "Santiago"),
        (f"http://errata:8000{link.after}", "Arica"),
    ]
    assert links == (expected_links if terminal else [])


def test_what_strict_refuses_is_shown_as_a_table(run: Any, trouble: Any) -> None:
    test = {"edit": "e0", "version": 3, "question": "Bolivia?", "expected": "Sucre", "actual": "La Paz"}
    trouble(409, "breaks_tests", tests=[test])
    result = run("edit", PERU, "Cusco", "--strict")
    assert (result.exit_code, result.stdout) == (1, "")
    lines = result.stderr.splitlines()
    assert lines[0] == "error: trouble: breaks_tests [breaks_tests]"
    assert lines[2].split() == ["3", "Bolivia?", "Sucre", "La", "Paz"]
    assert lines[3].startswith("hint: ")
    assert "without --strict" in lines[3]


def test_other_answers_that_strict_refuses_to_change_are_shown(run: Any, trouble: Any) -> None:
    effect = {"question": "Bolivia?", "before": "Sucre", "after": "Cusco"}
    trouble(409, "breaks_tests", tests=[], side_effects=[effect])
    result = run("edit", PERU, "Cusco", "--strict")
    assert (result.exit_code, result.stdout) == (1, "")
    assert [line.split() for line in result.stderr.splitlines()[1:]] == [["Bolivia?", "Sucre", "→", "Cusco"]]


def test_many_edits_with_one_warning_are_one_line(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tiny.report([wire.EditItem(question=PERU, answer="Cusco")], 0)
    edit_with_warning = plain.edits[0].model_copy(
        update={"warnings": ["the model gives this answer already"]}
    )
    edits = [edit_with_warning.model_copy(update={"question": f"q{n}"}) for n in range(40)]
    report = plain.model_copy(update={"edits": edits})
    monkeypatch.setattr(tiny, "report", lambda *_: report)
    text = run("edit", PERU, "Cusco").stdout
    assert "40 of 40 edits hold, in all wordings given." in text
    memories = ("graph", "nkb/bank")
    count, *_ = draw_edits(
        [edit.model_copy(update={"memory": memories[n % 2]}) for n, edit in enumerate(edits)]
    )
    expected = "  40 of 40 edits hold, in all wordings given: 20 of graph, 20 of nkb/bank."
    assert str(count) == expected
    warning = "warning, 40 times (q0, q1, q2 and 37 more): the model gives this answer already"
    assert [line.strip() for line in text.splitlines() if "warning" in line] == [warning]


def test_a_stale_writer_is_told_what_to_do(run: Any, tiny: Any) -> None:
    run("edit", PERU, "Cusco")
    result = run("edit", PERU, "Puno", "--expect", "0")
    assert (result.exit_code, result.stdout, tiny.head) == (1, "", 1)
    assert "error: the ledger is at version 1 [stale_version]" in result.stderr
    assert "hint: `errata log` shows" in result.stderr


def test_json_is_the_receipt_as_it_was_sent(run: Any) -> None:
    result = run("edit", PERU, "Cusco", "--json")
    assert wire.EditReceipt.model_validate_json(result.stdout).version == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'question,answer,paraphrases\nq1,a1,p1 | p2\n"q,2",a2,\n'),
        ("a.CSV", '\ufeffanswer,question,paraphrases\r\na1,q1,p1|p2\r\na2,"q,2",\r\n'),
        (
            "a.jsonl",
            '{"question": "q1", "answer": "a1", "paraphrases": ["p1", "p2"]}\n\n'
            '{"question": "q,2", "answer": "a2"}\n',
        ),
    ],
)
def test_a_file_of_corrections_becomes_one_commit(
    run: Any, tiny: Any, folder: Path, name: str, content: str
) -> None:
    (folder / name).write_text(content, encoding="utf-8")
    result = run("edit", "--file", name, "-m", "all")
    assert result.stdout.startswith("Version 1: 2 edits. ")
    first = {"question": "q1", "answer": "a1", "paraphrases": ["p1", "p2"]}
    assert last_body(tiny) == {"edits": [first, {"question": "q,2", "answer": "a2"}], "message": "all"}


def test_a_file_of_one_commit_says_that_it_was_made_before(run: Any, folder: Path) -> None:
    (folder / "a.csv").write_text("question,answer\nq1,a1\n")
    assert "had been made before" not in run("edit", "--file", "a.csv").stdout
    assert "Version 1 had been made before.\n" in run("edit", "--file", "a.csv").stdout


def test_a_file_may_say_the_model_line_by_line(run: Any, tiny: Any, folder: Path) -> None:
    (folder / "a.csv").write_text("question,answer,model\nq1,a1,kbert\nq2,a2,\n")
    run("edit", "-f", "a.csv", "--model", "backpack")
    assert [edit["model"] for edit in last_body(tiny)["edits"]] == ["kbert", "backpack"]


def test_of_many_edits_only_the_troubled_are_shown_one_by_one(run: Any, folder: Path) -> None:
    lines = [json.dumps({"question": f"q{n}", "answer": "a"}) for n in range(1_000)]
    (folder / "a.jsonl").write_text("\n".join(lines))
    text = run("edit", "--file", "a.jsonl", "--batch-size", "1000").stdout
    assert "1,000 of 1,000 edits hold, in all wordings given." in text
    assert text.count("\n") < 10


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.txt", "q,a", "a.txt: the name must end in .csv, .tsv, .xlsx, .jsonl or .json"),
        ("a.csv", "", f"a.csv:1: there is no column 'question'; {HEADER}; it is not there"),
        (
            "a.csv",
            "frage,antwort\nq,a\n",
            f"a.csv:1: there is no column 'question'; {HEADER}; it is frage,antwort",
        ),
        (
            "a.csv",
            "question;answer,model\nq;a\n",
            f"a.csv:1: there is no column 'answer'; {HEADER}; it is question,answer,model",
        ),
        (
            "a.csv",
            "question,answer,answer\nq,a,b\n",
            f"a.csv:1: two columns name the 'answer'; {HEADER}; it is question,answer,answer",
        ),
        ("a.csv", '"question,answer\nq,a\n', "a.csv:1: this is not CSV: "),
        ("a.csv", "question,answer\n", f"a.csv holds no corrections; each is a line {CSV_LINE}"),
        ("a.csv", "question,answer\nq,a\nq,\n", f"a.csv:3: answer: is missing; expected {CSV_LINE}"),
        ("a.csv", 'question,answer\n\n"q\nq",a\nq\n', "a.csv:5: answer: is missing"),
        (
            "a.csv",
            "question,answer\nq,a,b\n",
            "a.csv:2: there are more cells than columns; a text with a comma",
        ),
        ("a.csv", 'question,answer\nq,a\n"q,a\nq,a\n', "a.csv:3: this is not CSV: unexpected end of data; "),
        ("a.csv", b"question,answer\nq,a\nq,\xff\n", "a.csv:3: this is not UTF-8; save the file as UTF-8"),
        (
            "a.jsonl",
            '{"question": "q", "answer": "a"}\n{"question": \n',
            f"a.jsonl:2: this is not JSON: Expecting value at column 13; expected {JSONL_LINE}",
        ),
        ("a.jsonl", "[1]", f"a.jsonl:1: this is not an object; expected {JSONL_LINE}"),
        (
            "a.jsonl",
            '{"question": "q", "answer": 7}',
            "a.jsonl:1: answer: has to be a text; exp",
        ),
        ("a.jsonl", '{"question": "q", "answer": "a", "modle": "x"}', "modle: is no field of this request"),
    ],
)
def test_a_bad_file_is_refused_by_name_and_line_before_anything_is_sent(
    run: Any, tiny: Any, folder: Path, name: str, content: str | bytes, complaint: str
) -> None:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run("edit", "--file", name)
    message = " ".join(result.stderr.replace("│", " ").split())
    assert (result.exit_code, result.stdout, tiny.requests) == (2, "", [])
    assert complaint in message


def test_a_file_that_cannot_be_read_is_named_with_the_reason(run: Any, folder: Path) -> None:
    (folder / "folder.csv").mkdir()
    for name, why in (("absent.csv", "No such file or directory"), ("folder.csv", "Is a directory")):
        result = run("edit", "--file", name)
        assert result.exit_code == 2
        assert f"{name} cannot be read: {why}" in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("only a question",),
        ("q", "a", "--file", "a.csv"),
        ("--file", "absent.csv"),
        ("q", "a", "--method", ""),
        ("q", "a", "--expect", "newest"),
        ("q", "a", "surplus"),
    ],
)
def test_wrong_usage_changes_nothing(run: Any, tiny: Any, words: tuple[str, ...]) -> None:
    assert run("edit", *words).exit_code == 2
    assert tiny.requests == []
