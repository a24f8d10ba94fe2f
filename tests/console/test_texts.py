"""Texts that would run as scripts stay texts, wherever a page shows what a person wrote."""

import time
from urllib.parse import quote

import httpx
import pytest
from selenium import webdriver

from tests.console.audit import Auditor
from tests.console.keyboard import WAIT_S, Curator
from tests.console.words import FILE, TRY

MARKUP = (
    "\"' id='attack' onfocus='attacked=1'><img src=x id=attack onerror=attacked=1></textarea></title>"
    "<script>attacked=1</script>{{ 7 * 191 }}{% raw %}"
)
ATTACKS = {"markup": MARKUP, "address": "javascript:attacked=1"}
# Pages, with TEXT for the text, and THING for the address of the thing with that name.
PAGES = (
    "ask?question=TEXT who?&version=TEXT",
    "ask?question=TEXT who?",
    "why?question=TEXT who?&model=nkb",
    "correct?question=TEXT&answer=TEXT&line=TEXT",
    "correct?kind=fact&subject=TEXT&question=TEXT",
    "proposals?state=all",
    "proposals/1",
    "proposals/2",
    "worklist",
    "facts?q=TEXT&version=TEXT",
    "facts?q=TEXT",
    "facts/THING",
    "facts/TEXT",
    "facts/Q419",
    "documents/mill",
    "documents/TEXT",
    "files",
    "history",
    "history?grep=TEXT&author=TEXT",
    "versions/1",
    "versions/2",
    "versions/TEXT",
    "diff?older=0&newer=4",
    "diff?older=TEXT&newer=TEXT",
    "sign-in?to=TEXT",
    "TEXT",
)
# Pages that need not repeat the text: refusals of an address, and an empty form.
SILENT = {page for page in PAGES if "version=TEXT" in page} | {
    *("files", "sign-in?to=TEXT", "versions/TEXT", "documents/TEXT", "diff?older=TEXT&newer=TEXT")
}


@pytest.fixture(params=ATTACKS)
def attack(request: pytest.FixtureRequest) -> str:
    return ATTACKS[request.param]


@pytest.fixture
def thing(http: httpx.Client, attack: str) -> str:
    """Write the text wherever a person may, and return the address of the thing with its name."""
    item = {"question": f"{attack} who?", "answer": attack}
    wordings = {"paraphrases": [f"{attack} whom?"], "counterexamples": [f"{attack} which?"]}
    fact = {"subject": "Peru", "relation": attack, "object": attack}
    document = {"text": attack, "title": attack, "message": attack}
    table = f'Name,Director\n"{attack.replace(chr(34), chr(34) * 2)}",Ida\n'
    query = {"source": f"{attack}.csv", "subject": "Name", "message": attack}
    proposal = {"edits": [{"question": f"{attack} when?", "answer": attack}], "message": attack}
    for reply in (
        http.post("/admin/edits", json={"edits": [item | wordings], "message": attack}),
        http.post("/admin/edits", json={"edits": [fact], "message": attack}),
        http.put("/v1/documents/mill", json=document),
        http.post("/admin/graph/import", params=query, content=table.encode()),
        http.post("/admin/proposals", json=proposal),
        http.post("/admin/proposals/1/rejection", json={"reason": attack}),
        http.post("/admin/proposals", json=proposal),
        http.post("/v1/answers", json={"question": f"{attack} where?", "model": "nkb"}),
    ):
        assert reply.is_success, reply.text
    limit = time.monotonic() + WAIT_S
    while not http.get("/admin/gaps").json()["total"]:
        assert time.monotonic() < limit
        time.sleep(0.02)
    [entity] = http.get("/v1/entities", params={"q": attack}).json()["entities"]
    return str(entity["id"])


def test_a_text_is_inert_on_every_page(curator: Curator, attack: str, thing: str) -> None:
    curator.sign_in("ann")
    silent = set()
    for page in PAGES:
        path = page.replace("THING", quote(thing, "")).replace("TEXT", quote(attack, ""))
        curator.type_address(f"/console/{path}")
        if not any("attacked=1" in text for text in [curator.text, *curator.fields]):
            silent.add(page)
    assert silent <= SILENT


def test_a_text_is_inert_in_forms_and_files(curator: Curator, attack: str) -> None:
    curator.sign_in("ann")
    curator.type_address("/console/correct")
    for field in ("Question", "Right answer", "Other wordings of it, one a line", "Why, for the history"):
        curator.fill(field, attack)
    curator.press(TRY)
    curator.see(attack)
    curator.type_address("/console/files")
    name = attack.replace("/", "") + ".csv"
    curator.attach(FILE, name, f"question,answer\n{attack!r},{attack!r}\n")
    curator.press(TRY)
    curator.see(name.replace('"', "%22"))  # so browsers send it


@pytest.mark.parametrize(
    ("verb", "path", "body"),
    [
        ("POST", "/admin/keys", {"name": "A", "scopes": ["edit"]}),
        ("PUT", "/v1/documents/A", {"text": "x"}),
        ("PUT", "/admin/tags/A", {"version": 0}),
    ],
)
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_keys_documents_and_tags_have_no_such_names(
    http: httpx.Client, attack: str, verb: str, path: str, body: dict[str, object]
) -> None:
    place = path.replace("A", quote(attack, ""))
    reply = http.request(verb, place, json={**body, "name": attack} if "name" in body else body)
    assert reply.status_code in (404, 422), reply.text


@pytest.mark.parametrize("markup", ["<p>{}</p>", '<input value="{}">', "<textarea>{}</textarea>"])
def test_a_page_that_did_not_escape_would_be_found(
    browser: webdriver.Chrome, auditor: Auditor, markup: str
) -> None:
    browser.get("data:text/html," + quote(f"<title>x</title>{markup.format(MARKUP)}"))
    assert "an element that no template has" in "\n".join(auditor.find_faults())
