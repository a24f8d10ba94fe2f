"""The main task of each screen, by keyboard alone, with scripts and without; every page on the way has no fault."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from selenium import webdriver

from tests.console.audit import Auditor
from tests.console.conftest import Sit
from tests.console.keyboard import Curator
from tests.console.words import DONE, FILE, LIVE, MEND, TRY, WHY

HAMLET = "Who wrote Hamlet?"
TODAY = datetime.now(UTC).date()

Steps = tuple[tuple[str, ...], ...]

CORRECT_HAMLET: Steps = (
    ("sign_in", "ann"),
    ("press", "Correct"),
    ("fill", "Question", HAMLET),
    ("fill", "Right answer", "Ada"),
    ("fill", WHY, "the play of 2026"),
    ("press", TRY),
    ("see", "William Shakespeare → Ada"),
)
LIVE_HAMLET: Steps = (*CORRECT_HAMLET, ("press", LIVE), ("see", "Version 1", DONE, "the play of 2026"))
PERU: Steps = (
    ("sign_in", "ann"),
    ("press", "Facts"),
    ("fill", "Name of a thing, or its beginning", "peru"),
    ("press", "Find"),
    ("press", "Peru"),
    ("see", "capital", "Lima"),
)
TASKS: dict[str, Steps] = {
    "sign in": (
        ("type_address", "/console/history"),
        ("give_key", "a wrong one"),
        ("see", "This key is not known here"),
        ("give_key", "ann"),
        ("see", "No version yet."),
        ("press", "Sign out"),
        ("miss", "No version yet."),
    ),
    "ask": (
        ("sign_in", "ann"),
        ("fill", "Question", HAMLET),
        ("press", "Ask"),
        ("see", "William Shakespeare", "nkb", "kbert"),
        ("press", "Why does nkb say so?"),
        ("see", "Answer: William Shakespeare"),
    ),
    "this is wrong, try, make live, look": (
        ("sign_in", "ann"),
        ("fill", "Question", HAMLET),
        ("send",),
        ("press", "This is wrong: correct it"),
        ("fill", "Right answer", "Ada"),
        ("fill", "Other wordings of it, one a line", "Hamlet is by whom?\nThe author of Hamlet?"),
        ("fill", "Questions that it is not about, one a line", "What is the capital of Peru?"),
        ("press", TRY),
        ("see", "William Shakespeare → Ada", "Hamlet is by whom?", "What is the capital of Peru?"),
        ("press", LIVE),
        ("see", "Version 1", DONE),
        ("press", "Ask"),
        ("fill", "Question", "Hamlet is by whom?"),
        ("press", "Ask"),
        ("see", "Ada", "a correction of version 1"),
    ),
    "correct a fact": (
        ("sign_in", "ann"),
        ("press", "Correct"),
        ("reach", "the answer to a question"),
        ("choose", "a fact about a thing"),
        ("fill", "Thing", "Peru"),
        ("fill", "Relation", "capital"),
        ("fill", "Value", "Cusco"),
        ("reach", "The value"),
        ("choose", "set"),
        ("press", TRY),
        ("see", "Lima → Cusco"),
        ("press", LIVE),
        ("see", DONE),
    ),
    "propose, approve by another": (
        *CORRECT_HAMLET,
        ("press", "Propose it to another person"),
        ("see", "Proposal 1", "By ann", "open", "the play of 2026"),
        ("press", "Approve: make it live"),
        ("see", "ann", "open"),
        ("press", "Sign out"),
        ("give_key", "bo"),
        ("press", "Proposals"),
        ("press", "1"),
        ("press", "Approve: make it live"),
        ("see", "Version 1", DONE),
        ("press", "Proposals"),
        ("press", "Also what is decided"),
        ("see", "version 1, by bo"),
    ),
    "propose, reject": (
        ("sign_in", "cy"),
        ("press", "Correct"),
        ("fill", "Question", HAMLET),
        ("fill", "Right answer", "Ada"),
        ("press", "Propose it to another person"),
        ("see", "By cy", "William Shakespeare → Ada"),
        ("press", "Sign out"),
        ("give_key", "bo"),
        ("press", "Proposals"),
        ("see", "cy"),
        ("press", "1"),
        ("fill", "Why not", "she is no writer"),
        ("press", "Reject"),
        ("see", "No proposal waits."),
        ("press", "Also what is decided"),
        ("see", "she is no writer"),
    ),
    "propose a change of a fact": (
        ("sign_in", "cy"),
        ("type_address", "/console/facts/Q419"),
        ("press", "Retire currency: sol"),
        ("see", "lacks the scope 'edit'"),
        ("press", "Propose it to another person"),
        ("see", "By cy", "sol → no answer"),
    ),
    "worklist": (
        ("sign_in", "ann"),
        ("press", "Worklist"),
        ("see", "the most asked first: 2."),
        ("press", "Answer: who runs the mill?"),
        ("fill", "Right answer", "Ada"),
        ("press", TRY),
        ("press", LIVE),
        ("press", "Worklist"),
        ("miss", "who runs the mill?"),
        ("press", "Ask them again, and take out what is answered now"),
        ("press", "Drop: who owns the barn?"),
        ("see", "No question waits for an answer."),
    ),
    "several lines of the worklist": (
        ("sign_in", "ann"),
        ("press", "Worklist"),
        ("tick", "who runs the mill?"),
        ("tick", "who owns the barn?"),
        ("press", "Drop those ticked"),
        ("see", "No question waits for an answer."),
    ),
    "look at an edit again": (
        *CORRECT_HAMLET[:-2],
        ("fill", "Look at it again on a day, if there is one", f"{TODAY:%m%d%Y}"),
        ("press", TRY),
        ("press", LIVE),
        ("press", "Worklist"),
        ("see", "To be looked at again", "no answer rests on it yet"),
        ("fill", "Look again on", "01011999"),
        ("press", f"Still right: look again then: {HAMLET}"),
        ("see", "1999-01-01 is past: give today or a later day"),
        ("fill", "Look again on", "01012099"),
        ("press", f"Set the day: {HAMLET}"),
        ("miss", "To be looked at again"),
        ("type_address", "/console/versions/1"),
        ("open", f"To be looked at again on 2099-01-01: {HAMLET}"),
        ("press", f"Never again: {HAMLET}"),
        ("see", "Look again…"),
    ),
    "history, undo of a commit": (
        *LIVE_HAMLET,
        ("press", "History"),
        ("fill", "Text", "nothing like that"),
        ("fill", "Who", "ann"),
        ("press", "Filter"),
        ("see", "No version like that."),
        ("fill", "Text", "play of"),
        ("press", "Filter"),
        ("press", "1"),
        ("press", "Take this commit back…"),
        ("see", "Take version 1 back", "Ada → William Shakespeare"),
        ("fill", WHY, "an error"),
        ("press", "Do it"),
        ("see", "Version 2", DONE, "an error"),
        ("press", "Compare with the version before"),
        ("see", "Ada → William Shakespeare"),
        ("fill", "Older", "0"),
        ("fill", "Newer", "2"),
        ("press", "Compare"),
        ("see", "None."),
    ),
    "undo of an edit, and back to a version": (
        *LIVE_HAMLET,
        ("press", f"Take back: {HAMLET}"),
        ("press", "Do it"),
        ("see", "Version 2", DONE),
        ("type_address", "/console/versions/1"),
        ("see", "taken back"),
        ("press", "Go back to this version…"),
        ("see", "Go back to version 1", "William Shakespeare → Ada"),
        ("press", "Do it"),
        ("see", "Version 3", DONE),
    ),
    "change a fact": (
        *PERU,
        ("open", "Change capital: Lima"),
        ("fill", "New value", "Cusco"),
        ("press", TRY),
        ("see", "Lima → Cusco"),
        ("press", LIVE),
        ("see", DONE.removesuffix("."), "Said before"),
        ("fill", "As of version (empty: now)", "0"),
        ("press", "Look"),
        ("see", "as of version 0"),
        ("miss", "Cusco since"),
    ),
    "retire a fact, and say another": (
        *PERU,
        ("press", "Retire currency: sol"),
        ("press", LIVE),
        ("see", "Said before"),
        ("open", "Say one more fact"),
        ("fill", "Relation", "motto"),
        ("fill", "Value", "Firm and happy"),
        ("press", TRY),
        ("press", LIVE),
        ("see", "Firm and happy"),
    ),
    "a file of corrections, mended, and the export": (
        ("sign_in", "ann"),
        ("press", "Files"),
        ("attach", FILE, "lines.csv", "question,answer\nwho runs the mill?,Ada\nwho owns the barn?,\n"),
        ("fill", WHY, "the list of May"),
        ("press", TRY),
        ("see", "line 3: answer: is missing", "who runs the mill?"),
        ("fill", MEND, "question,answer\nwho runs the mill?,Ada\nwho owns the barn?,Bo"),
        ("press", TRY),
        ("see", "2 would be made"),
        ("press", "Make 2 live"),
        ("see", DONE, "the list of May"),
        ("press", "Files"),
        (
            "download",
            "Download all active edits and facts (CSV)",
            "errata-edits-1.csv",
            "who runs the mill?,Ada",
        ),
    ),
    "health": (
        *LIVE_HAMLET,
        ("press", "Health"),
        ("see", "All is well.", "The tests of edits have not been run"),
        ("open", "Edits a day in numbers"),
        ("press", "Run the tests of all edits now"),
        ("see", "At version 1, 1 of 1 questions, wordings and facts of edits got their answers"),
    ),
    "a table of things": (
        ("sign_in", "ann"),
        ("press", "Files"),
        ("attach", FILE, "halls.csv", "Name,Director\nOak Hall,Ida\n,Bo\n"),
        ("press", TRY),
        ("see", "line 3: ", "Oak Hall"),
        ("press", "Make the other lines live"),
        ("see", DONE),
    ),
}


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.usefixtures("worklist")
def test_a_task_is_done_by_keyboard_alone(sit: Sit, task: str, scripts: bool) -> None:
    sit(scripts).take(TASKS[task])


def test_a_document_is_read_and_changed_by_keyboard_alone(curator: Curator, http: httpx.Client) -> None:
    http.put("/v1/documents/mill", json={"text": "The mill was built in 1820. It burnt down in 1904."})
    curator.sign_in("ann")
    curator.take((("press", "Facts"), ("press", "mill"), ("see", "It burnt down in 1904.")))
    curator.take((("open", "Change the text"), ("fill", "New text", "It still stands."), ("press", TRY)))
    curator.take((("see", "put document 'mill'"), ("press", LIVE), ("see", "It still stands.")))


BAD: dict[str, tuple[str, Any]] = {
    "script": ("<script>attacked = 1</script>", "a script of a text has run"),
    "element": ("<b id=attack>x</b>", "an element that no template has"),
    "request": ("<img src=http://127.0.0.2:8/x.png>", "a request to http://127.0.0.2:8/x.png"),
    "log": ("<script>console.error('lost')</script>", "the browser's log"),
    "axe": ("<input>", "label: <input>"),
    "width": ("<div style='width: 900px'>x</div>", "420 pixels: the page is"),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_fault_of_a_page_is_found(browser: webdriver.Chrome, auditor: Auditor, fault: str) -> None:
    markup, sentence = BAD[fault]
    browser.get(f"data:text/html,<html lang=en><title>x</title><main><h1>x</h1>{markup}</main>")
    assert sentence in "\n".join(auditor.find_faults())


def test_a_browser_without_scripts_runs_none(browser: webdriver.Chrome, auditor: Auditor) -> None:
    auditor.allow_scripts(False)
    try:
        browser.get("data:text/html,<title>x</title><script>document.title = 'run'</script>")
        assert browser.title == "x"
    finally:
        auditor.allow_scripts(True)
