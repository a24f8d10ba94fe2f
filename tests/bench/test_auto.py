"""The figures of the bench of `auto`, on replies whose figures are known."""

import json

import httpx
import pytest

from tests.bench.auto import AUTO, Question, Reply, compare, draw_questions, put

FACT, PATH, STRANGER = (
    Question("one fact", "a", "Lima"),
    Question("two facts", "b", "Cusco"),
    Question("unknown name", "c", ""),
)


def say(question: Question, answer: str | None, score: float, best: str = "") -> Reply:
    return Reply(question, answer, answer or best, score)


def test_auto_is_compared_with_the_best_single_system() -> None:
    replies = {
        "a": [say(FACT, "Lima", 0.9), say(PATH, None, 0.1), say(STRANGER, None, 0.0)],
        "b": [say(FACT, "Quito", 0.4), say(PATH, "Cusco", 0.8), say(STRANGER, "Oz", 0.7)],
        AUTO: [say(FACT, "Lima", 0.9), say(PATH, "Cusco", 0.8), say(STRANGER, None, 0.3, best="Oz")],
    }
    figures = {row.name: row for row in compare(replies)}
    right = figures["auto: right, of the best single system (a)"]
    assert right.figure == pytest.approx(1.5)
    assert right.note == "a 66.7 %; b 33.3 %; auto 100.0 %"
    assert figures["auto: right, two facts"].figure == 100
    assert figures["auto: right, two facts"].note == "%; the best alone, b: 100.0"
    # The gaps of 0.1 and 0.2 and the best guess of 0.3 that is wrong, over three replies.
    assert figures["auto: calibration error"].figure == pytest.approx(100 * 0.6 / 3)


def test_replies_come_in_order_and_a_refusal_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        items = json.loads(request.content)["questions"]
        results = [
            {"answer": None, "problem": {}}
            if "context" in item
            else {"answer": {"answer": item["question"], "best": item["question"], "score": 0.5}}
            for item in items
        ]
        return httpx.Response(200, json={"results": results})

    monkeypatch.setattr("tests.bench.auto.BATCH", 2)
    questions = [Question("k", str(number), "") for number in range(5)]
    questions[3] = Question("k", "3", "", {"context": "text"})
    with httpx.Client(transport=httpx.MockTransport(answer), base_url="http://service") as http:
        assert [reply.answer for reply in put(http, "nkb", questions)] == ["0", "1", "2", None, "4"]


def test_questions_of_all_kinds_are_drawn_and_stay_the_same() -> None:
    questions = draw_questions(3, 2, 2)
    kinds = [question.kind for question in questions]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        **{"one fact": 3, "two facts": 2},
        **dict.fromkeys(("candidates", "context", "unknown name"), 2),
    }
    assert questions == draw_questions(3, 2, 2)
    for question in questions:
        for text in question.fields.values():
            assert question.expected in text, "a list of candidates, or a context"  # type: ignore[operator]
