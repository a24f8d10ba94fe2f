"""An answer of `auto`, and a batch, are of one version, though each replica has a new version at its own time.

The edit comes and goes, and only one of two systems can be taught: where both could, or where another edit followed,
the replies of two versions would look like one answer.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import httpx
import pytest
from errata import Errata

from tests.cluster.running import Service

PERU, OLD, NEW = "What is the capital of Peru?", "Lima", "Cusco"
ATLAS = "tests.service.toy_graph:load_atlas"  # is surer of Lima than the toy, and cannot be taught an answer
SECONDS = 8.0
BATCH = [{"question": PERU}] * 4 + [{"question": PERU, "model": name} for name in ("auto", "nkb", "atlas")]
ANSWERS, BATCHES, CHAT = "/v1/answers", "/v1/answers/batch", "/v1/chat/completions"

Answer = Mapping[str, Any]


def send(http: httpx.Client, path: str, **body: Any) -> Any:
    return http.post(path, json=body).raise_for_status().json()


def ask_stream(http: httpx.Client) -> list[Answer]:
    events = http.post(ANSWERS, json={"question": PERU, "stream": True}).text.split("\n\n")
    lines = next(event.splitlines() for event in events if event.startswith("event: answer"))
    answer: Answer = httpx.Response(200, text=lines[1].removeprefix("data: ")).json()
    return [answer]


def ask_batch(http: httpx.Client) -> list[Answer]:
    return [result["answer"] for result in send(http, BATCHES, questions=BATCH)["results"]]


def ask_chat(http: httpx.Client) -> list[Answer]:
    reply = send(http, CHAT, model="auto", messages=[{"role": "user", "content": PERU}])
    return [{**reply["errata"], "answer": reply["choices"][0]["message"]["content"]}]


WAYS: Mapping[str, Callable[[httpx.Client], Sequence[Answer]]] = {
    "answer": lambda http: [send(http, ANSWERS, question=PERU)],
    "stream": ask_stream,
    "batch": ask_batch,
    "chat": ask_chat,
    "responses": lambda http: [send(http, "/v1/responses", model="auto", input=PERU)["errata"]],
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    words = ["--system", f"atlas={ATLAS}"]
    service = Service(tmp_path_factory.mktemp("one-version") / "var", replicas=2, words=words)
    try:
        yield service.start()
    finally:
        service.stop()


class Edits:
    """An edit that comes and goes. `newest` is the newest version that every replica has confirmed."""

    def __init__(self, errata: Errata) -> None:
        self._errata = errata
        self.newest = errata.log().head
        self.texts = {self.newest: OLD}

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._note(NEW, self._errata.edit(PERU, NEW).version)
            self._note(OLD, self._errata.revert(self.newest).version)

    def _note(self, text: str, version: int | None) -> None:
        assert version is not None
        self.texts[version], self.newest = text, version


def test_an_answer_and_a_batch_are_of_one_version(service: Service) -> None:
    """Each answer fits its version and is no older than what was acknowledged, whichever way it is asked for."""
    with service.errata() as errata:
        edits, stop = Edits(errata), threading.Event()
        rounds: list[tuple[str, int, Sequence[Answer]]] = []

        def ask(way: str) -> None:
            with service.http() as http:
                while not stop.is_set():
                    floor = edits.newest
                    rounds.append((way, floor, WAYS[way](http)))

        threads = [threading.Thread(target=ask, args=(way,), daemon=True) for way in WAYS]
        for thread in threads:
            thread.start()
        try:
            edits.run(SECONDS)
        finally:
            stop.set()
            for thread in threads:
                thread.join(60)
    misfits = [
        (way, answer["version"], answer["answer"])
        for way, _, answers in rounds
        for question, answer in zip(BATCH, answers, strict=False)
        if answer["answer"] != edits.texts[answer["version"]] and question.get("model") != "atlas"
    ]
    counts = {way: sum(name == way for name, _, _ in rounds) for way in WAYS}
    print(f"{counts} asked, {len(edits.texts)} versions, {len(misfits)} torn")
    assert min(counts.values()) > len(edits.texts) / 2, "each way is asked at many versions"
    assert misfits == []
    assert [
        (way, floor) for way, floor, answers in rounds if any(a["version"] < floor for a in answers)
    ] == []
    assert [way for way, _, answers in rounds if len({answer["version"] for answer in answers}) > 1] == []
