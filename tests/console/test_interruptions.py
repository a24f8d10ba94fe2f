"""What comes between the first word of a form and its commit: a session that ends, and the commits of others."""

import httpx
import pytest

from tests.console.conftest import Sit
from tests.console.words import DONE, FILE, LIVE, TRY, WHY

NEWS = "Others have committed since you tried this."
HAMLET = "Who wrote Hamlet?"
LINES = "question,answer\nwho runs the mill?,Ada"

# Where a form is, the fields that are filled in, the button, and what the page says when it has gone on.
FORMS = {
    "correction": (
        "/console/correct",
        {
            "Question": HAMLET,
            "Right answer": 'Ada "the" Bo & Co',
            "Other wordings of it, one a line": "Hamlet is by whom?\nThe author of Hamlet?",
            "Questions that it is not about, one a line": "What is the capital of Peru?",
            WHY: "the play of 2026 <b>",
        },
        TRY,
        'Ada "the" Bo & Co',
    ),
    "rejection": ("/console/proposals/1", {"Why not": "she is no writer"}, "Reject", "No proposal waits."),
}
COOKIES = {"key": ["errata_key"], "both": ["errata_key", "errata_form"]}


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("cookies", COOKIES)
@pytest.mark.parametrize("name", ["correction", "rejection"])
def test_a_form_outlives_its_session(
    sit: Sit, http: httpx.Client, name: str, cookies: str, scripts: bool
) -> None:
    path, fields, button, outcome = FORMS[name]
    proposal = {"edits": [{"question": HAMLET, "answer": "Bo"}]}
    http.post("/admin/proposals", json=proposal).raise_for_status()
    curator = sit(scripts)
    curator.sign_in("ann")
    curator.type_address(path)
    for label, text in fields.items():
        curator.fill(label, text)
    for cookie in COOKIES[cookies]:
        curator.browser.delete_cookie(cookie)
    curator.press(button)
    if "errata_form" in COOKIES[cookies]:
        curator.see("Nothing was changed and nothing is lost: send it again.")
        curator.press("Send it again")
    curator.see("Nothing that you wrote is lost")
    curator.give_key("ann")
    curator.see("What you wrote is still here.")
    curator.press("Go on with it")
    curator.see(outcome)
    if name == "correction":
        assert set(fields.values()) <= {text.replace("\r\n", "\n") for text in curator.fields}
        curator.press(LIVE)
        curator.see(DONE)


def test_a_file_outlives_its_session(sit: Sit) -> None:
    curator = sit()
    curator.sign_in("ann")
    curator.type_address("/console/files")
    curator.attach(FILE, "lines.csv", LINES)
    curator.fill(WHY, "the list of May")
    curator.browser.delete_cookie("errata_key")
    curator.press(TRY)
    curator.give_key("ann")
    curator.press("Go on with it")
    assert {LINES, "the list of May"} <= set(curator.fields)
    curator.press("Make 1 live")
    curator.see(DONE, "the list of May")


def commit(http: httpx.Client, key: str) -> None:
    body = {"edits": [{"question": "who owns the barn?", "answer": "Bo"}], "message": "hers came first"}
    headers = {"authorization": f"Bearer {key}"}
    http.post("/admin/edits", json=body, headers=headers).raise_for_status()


@pytest.mark.parametrize("form", ["correction", "fact", "file"])
def test_the_commit_of_another_after_the_trial_is_shown_and_the_form_tried_again(
    sit: Sit, http: httpx.Client, keys: dict[str, str], form: str
) -> None:
    curator, live = sit(), LIVE
    curator.sign_in("ann")
    if form == "correction":
        curator.type_address(f"/console/correct?question={HAMLET}")
        curator.fill("Right answer", "Ada")
        curator.press(TRY)
    elif form == "fact":
        curator.type_address("/console/facts/Q419")
        curator.press("Retire currency: sol")
    else:
        curator.type_address("/console/files")
        curator.attach(FILE, "lines.csv", LINES)
        curator.press(TRY)
        live = "Make 1 live"
    commit(http, keys["bo"])
    curator.press(live)
    curator.see(NEWS, "hers came first", "bo")
    assert http.get("/admin/versions").json()["head"] == 1
    curator.press(live)
    curator.see(DONE.removesuffix("."))
    assert http.get("/admin/versions").json()["head"] == 2


def test_a_proposal_that_was_shown_before_the_commit_of_another_is_shown_anew(
    sit: Sit, http: httpx.Client, keys: dict[str, str]
) -> None:
    proposal = {"edits": [{"question": HAMLET, "answer": "Bo"}]}
    http.post("/admin/proposals", json=proposal).raise_for_status()
    curator = sit()
    curator.sign_in("ann")
    curator.type_address("/console/proposals/1")
    curator.see("What it would do at version 0")
    commit(http, keys["bo"])
    curator.press("Approve: make it live")
    curator.see("What it would do at version 1")
    curator.press("Approve: make it live")
    curator.see(DONE)
