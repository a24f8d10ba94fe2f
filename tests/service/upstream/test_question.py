from typing import Any

import pytest

from service.upstream.lone_question import says_more, stands_alone
from service.upstream.question import AskedQuestion, find_question

USER = {"role": "user", "content": "Who wrote Hamlet?"}
LONE = AskedQuestion("Who wrote Hamlet?", is_follow_up=False)
CHAT = "chat/completions"


def test_the_last_message_of_a_user_is_the_question() -> None:
    parts = {"role": "user", "content": [{"type": "text", "text": "Who wrote\nHamlet?"}]}
    system = {"role": "system", "content": "Be brief."}
    assert find_question(CHAT, {"messages": [system, parts], "tools": [{}], "tool_choice": "auto"}) == LONE
    dialogue = [USER, {"role": "assistant", "content": "Bacon"}, USER]
    assert find_question(CHAT, {"messages": dialogue}) == AskedQuestion(LONE.text, is_follow_up=True)
    assert find_question("responses", {"input": "Who wrote Hamlet?"}) == LONE


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": [USER, {"role": "tool", "content": "42"}]},
        {"messages": [USER, {"role": "assistant", "content": "It was"}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
        {"messages": [USER], "tool_choice": "required"},
        {"messages": [USER], "tool_choice": {"type": "function"}},
        {"messages": [USER], "response_format": {"type": "json_schema", "json_schema": {}}},
        {"messages": [USER], "logprobs": True},
        {"messages": [USER], "n": 9},
        {"messages": [{"role": "system", "content": "You are  the\nbilling bot."}, USER]},
        {"messages": "Who?"},
        {"messages": ["Who?"]},
        {"messages": []},
        {},
    ],
)
def test_a_request_for_more_than_a_text_has_no_question(fields: dict[str, Any]) -> None:
    assert find_question(CHAT, fields, keep_out=("thebillingbot",)) is None


def test_a_response_that_is_stored_holds_one_question() -> None:
    dialogue = [USER, {"role": "assistant", "content": "Bacon"}, USER]
    assert find_question("responses", {"input": dialogue}) is None
    assert find_question("responses", {"input": dialogue, "store": False}) is not None


def test_a_prompt_asks_in_any_script() -> None:
    assert find_question("completions", {"prompt": "誰が書いた？"}) is not None
    assert find_question("completions", {"prompt": "Who wrote it"}) is None
    assert find_question("embeddings", {"input": "Who?"}) is None


def test_a_follow_up_stands_alone_if_it_names_what_it_asks_about() -> None:
    wording = "Who is the brother of Napoleon?"
    assert stands_alone("and who is napoleon's brother?", wording)
    assert not stands_alone("and his brother?", wording)
    assert stands_alone("when does it open?", "When does it open?")
    assert not stands_alone("when do they?", "When does it open?")
    assert not stands_alone("When did Acme buy it?", "When did Acme buy Beta?")
    assert not stands_alone("他的妻子是谁？", "李白的妻子是谁？")


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": [{"role": "system", "content": [{"type": "image_url"}]}, USER]},
        {"messages": [USER], "instructions": [{"role": "system", "content": "x"}]},
    ],
)
def test_a_prompt_that_cannot_be_read_is_kept_out_as_those_of_the_list(fields: dict[str, Any]) -> None:
    assert find_question(CHAT, fields) is not None
    assert find_question(CHAT, fields, keep_out=("legal bot",)) is None


@pytest.mark.parametrize(
    "fields", [{"guided_json": {}}, {"grammar": "root ::= x"}, {"n": 1.0}, {"n": True}, {"documents": []}]
)
def test_fields_that_may_ask_for_another_shape_are_left_to_the_upstream(fields: dict[str, Any]) -> None:
    assert find_question(CHAT, {"messages": [USER], "temperature": 0, "tool_choice": None}) is not None
    assert find_question(CHAT, {"messages": [USER], **fields}) is None


def test_a_very_long_text_is_no_question() -> None:
    assert find_question(CHAT, {"messages": [{"role": "user", "content": "ab " * 3_000}]}) is None


WORDING = "What is the capital of Peru?"


@pytest.mark.parametrize(
    ("text", "wording", "expected"),
    [
        ("Hi there! What is the capital of Peru?", WORDING, False),
        ("Who was the wife of Dr. J. R. Watson?", "Who was the wife of Watson?", False),
        ("I am going to Peru next week. What is its capital there?", WORDING, False),
        ("<context>Lima is the capital.</context> What is the capital of Peru?", WORDING, True),
        ("What is the capital of Peru? Answer in one word in Spanish.", WORDING, True),
        ("罗马的新市长是张三。谁是罗马的市长？", "谁是罗马的市长？", True),
        ("你好。谁是罗马的市长？", "谁是罗马的市长？", False),
    ],
)
def test_a_message_with_a_text_or_an_instruction_says_more_than_its_question(
    text: str, wording: str, expected: bool
) -> None:
    assert says_more(text, wording) is expected
