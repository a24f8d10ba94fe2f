"""The system that models/README.md shows, served over HTTP: asked, edited, explained, compared, reverted, watched."""

import re
import sys
from pathlib import Path

import httpx
import pytest

OPTIONS = {"systems": {"glossary": "readme_glossary:load"}}
README = Path(__file__).parents[3] / "models" / "README.md"
FOLD, LEDGER = "What is a fold?", "What is a ledger?"
MAX_LINES = 60  # without blank ones


def example() -> str:
    (source,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    return str(source)


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the module of the page where the service finds it."""
    (tmp_path / "readme_glossary.py").write_text(example(), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "readme_glossary", raising=False)


def test_it_takes_no_more_than_sixty_lines() -> None:
    assert len([line for line in example().splitlines() if line.strip()]) <= MAX_LINES


async def test_it_is_asked_edited_explained_compared_reverted_and_watched(http: httpx.AsyncClient) -> None:
    async def ask(question: str, **options: object) -> dict[str, object]:
        body = {"question": question, "model": "glossary", **options}
        answer: dict[str, object] = (await http.post("/v1/answers", json=body)).raise_for_status().json()
        return answer

    assert (await ask(FOLD))["answer"] == "a pure function of edits"
    edit = {"question": FOLD, "answer": "what edits come to", "paraphrases": ["Fold?"], "model": "glossary"}
    receipt = (
        await http.post(
            "/admin/edits", json={"edits": [edit], "options": {"exact": True}, "wait_report": True}
        )
    ).json()
    assert (receipt["version"], receipt["all_applied"]) == (1, True), receipt
    report = receipt["report"]
    assert (report["edits"][0]["before"], report["edits"][0]["after"]) == (
        "a pure function of edits",
        "what edits come to",
    )
    assert report["probes"] == 1, "the other term"
    assert (await ask("what is a FOLD", min_version=1))["answer"] == "a pure function of edits", (
        "not the very words"
    )
    answer = await ask("Fold?", explain=True, min_version=1)
    assert (answer["answer"], answer["edits"]) == ("what edits come to", [report["edits"][0]["id"]])
    assert answer["explanation"] == {"is_known": True}
    checks = (await http.post("/admin/checks")).json()
    assert (checks["total"], checks["holding"]) == (2, 2)
    diff = (await http.get("/admin/diff", params={"from": 0, "to": 1})).json()
    assert [change["question"] for change in diff["changes"]] == [FOLD, "Fold?"]
    metrics = (await http.get("/metrics")).text
    assert 'errata_memory_slots{memory="glossary/terms",slots="used"} 1.0' in metrics
    assert (await http.post("/admin/reverts", json={"version": 1, "wait": "all"})).status_code == 201
    assert (await ask(FOLD, min_version=2))["answer"] == "a pure function of edits"
    assert (await ask(FOLD, version=1))["answer"] == "what edits come to"


async def test_what_its_memory_does_not_know_is_refused_with_a_sentence(http: httpx.AsyncClient) -> None:
    edit = {"question": LEDGER, "answer": "x", "model": "glossary"}
    unknown = await http.post("/admin/edits", json={"edits": [edit], "options": {"lambda": 0.5}})
    assert (unknown.status_code, unknown.json()["field"]) == (422, "options.lambda")
    assert unknown.json()["detail"] == "glossary/terms has no option 'lambda': it has exact"
    wrong = await http.post("/admin/edits", json={"edits": [edit], "options": {"exact": "perhaps"}})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "options.exact")
    (card,) = (await http.get("/v1/models")).json()["data"]
    assert card["memories"][0]["accepts"] == ["answer"]
    assert card["memories"][0]["options"]["exact"]["type"] == "boolean"
