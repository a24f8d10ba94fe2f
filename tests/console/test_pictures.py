"""Pictures of the main screens, for the page of the console: `make console` writes them to build/console/pictures."""

import base64
from io import BytesIO
from pathlib import Path

import httpx
import pytest
from PIL import Image

from tests.console.audit import Auditor
from tests.console.keyboard import Curator
from tests.console.words import FILE, TRY

FOLDER = Path(__file__).parents[2] / "build/console/pictures"
MAX_BYTES, COLOURS = 60_000, 192
MAX_HEIGHT = 1_400  # pixels
MILL = "Who runs the mill?"
LINES = "question,answer\nWho built the bridge?,Ida\nWho keeps the keys?,\nWho wrote Hamlet?,William Shakespeare\n"
COMMITS = (
    ("ann", [{"question": MILL, "answer": "Ada", "paraphrases": ["Who is the miller?"]}], "Bo left in May"),
    ("bo", [{"subject": "Peru", "relation": "motto", "object": "Firm and happy"}], "from the almanac"),
    ("bo", [{"question": "Who wrote Hamlet?", "answer": "Bo"}], "the play of 2026"),
)
# The name of a picture, the address of its page, and how it is looked at.
PICTURES = {
    "ask": (f"ask?question={MILL}", "light", 1_200),
    "history": ("history", "light", 1_200),
    "history-dark": ("history", "dark", 1_200),
    "version": ("versions/1", "light", 1_200),
    "worklist": ("worklist", "light", 1_200),
    "worklist-narrow": ("worklist", "light", 420),
    "thing": ("facts/Q419", "light", 1_200),
    "proposal": ("proposals/1", "light", 1_200),
    "health": ("health", "light", 1_200),
}


@pytest.mark.usefixtures("worklist")
def test_pictures_of_the_screens_are_small(
    curator: Curator, auditor: Auditor, http: httpx.Client, keys: dict[str, str]
) -> None:
    _commit(http, keys)
    FOLDER.mkdir(parents=True, exist_ok=True)
    curator.sign_in("ann")
    for name, (page, scheme, width) in PICTURES.items():
        curator.type_address(f"/console/{page}")
        _draw(curator, auditor, name, scheme, width)
    curator.type_address(f"/console/correct?question={MILL}")
    curator.fill("Right answer", "Cy")
    curator.fill("Questions that it is not about, one a line", "Who owns the mill?")
    curator.press(TRY)
    _draw(curator, auditor, "correct")
    curator.type_address("/console/files")
    curator.attach(FILE, "lines.csv", LINES)
    curator.press(TRY)
    _draw(curator, auditor, "files")


def _commit(http: httpx.Client, keys: dict[str, str]) -> None:
    for author, edits, message in COMMITS:
        body = {"edits": edits, "message": message}
        http.post("/admin/edits", json=body, headers=_sign(keys[author])).raise_for_status()
    http.post("/admin/reverts", json={"version": 3, "message": "a joke"}).raise_for_status()
    http.put("/admin/tags/may", json={"version": 2}).raise_for_status()
    proposal = {"edits": [{"question": "Who owns the barn?", "answer": "Bo"}], "message": "so says the deed"}
    http.post("/admin/proposals", json=proposal, headers=_sign(keys["cy"])).raise_for_status()
    for question in (MILL, "Who is the miller?", "What is the capital of Chile?"):
        http.post("/v1/answers", json={"question": question, "model": "auto"}).raise_for_status()


def _sign(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def _draw(curator: Curator, auditor: Auditor, name: str, scheme: str = "light", width: int = 1_200) -> None:
    auditor.look(scheme, width)
    curator.browser.execute_script("document.activeElement.blur()")
    height = min(MAX_HEIGHT, auditor.evaluate("Math.ceil(document.body.getBoundingClientRect().height)"))
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    options = {"format": "png", "clip": clip, "captureBeyondViewport": True}
    screenshot = base64.b64decode(curator.browser.execute_cdp_cmd("Page.captureScreenshot", options)["data"])
    path = FOLDER / f"{name}.png"
    Image.open(BytesIO(screenshot)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    assert path.stat().st_size <= MAX_BYTES, path
