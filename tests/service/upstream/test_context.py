"""Where the block of facts stands in a body, and that every other byte is as it was."""

import json

import pytest

from service.upstream.context import PREAMBLE, add_block, write_block

BLOCK = 'Facts:\n- [a1] Peru: capital: "Cusco"'
ASK = '{"role": "user", "content": "Capital of Per\\u00fa?"}'


@pytest.mark.parametrize(("path", "messages", "expected"), [
    ("chat/completions", [{"role": "system", "content": "Be \"brief\"."}], f"Be \"brief\".\n\n{BLOCK}"),
    ("responses", [{"content": "Be brief.", "role": "system"}], f"Be brief.\n\n{BLOCK}"),
    ("chat/completions", [{"role": "system", "content": [{"type": "text", "text": "Be brief."}]}],
     [{"type": "text", "text": "Be brief."}, {"type": "text", "text": f"\n\n{BLOCK}"}]),
    ("responses", [{"role": "system", "content": [{"type": "input_text", "text": "a"}]}],
     [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": f"\n\n{BLOCK}"}]),
    ("chat/completions", [], BLOCK),
    ("responses", [], BLOCK),
])  # fmt: skip
def test_a_block_ends_the_system_prompt_or_is_one(path: str, messages: list, expected: object) -> None:
    field = "input" if path == "responses" else "messages"
    prompt = "".join(json.dumps(message) + " ,\n" for message in messages)
    before, after = f'{{"model":"m" , "{field}" :[ {prompt}', f'{ASK}\r\n], "x": 1.50, "é":"\\/"}}'
    longer = add_block(path, (before + after).encode(), BLOCK)
    assert longer is not None
    first, *rest = json.loads(longer)[field]
    assert first["content"] == expected
    assert rest == [json.loads(ASK)]
    assert longer.decode().endswith(after)
    end = json.dumps(messages[0]["content"])[:-1] if messages else "["
    beginning = before[: before.index(end) + len(end)]
    assert longer.decode().startswith(beginning)


@pytest.mark.parametrize(("path", "body"), [
    ("responses", {"input": [5]}),
    ("chat/completions", {"messages": [{"role": "system", "content": ["a"]}, {"role": "user", "content": "a"}]}),
    ("chat/completions", {"messages": [{"role": "system", "content": 5}, {"role": "user", "content": "a"}]}),
    ("responses", {"input": [{"role": "system", "content": [{"type": "input_image"}]}]}),
    ("completions", {"prompt": "Capital of Peru?"}),
    ("chat/completions", {"messages": []}),
    ("chat/completions", {"messages": [{"role": "system", "content": None}, {"role": "user", "content": "a"}]}),
    ("chat/completions", {"messages": [{"role": "system"}, {"role": "user", "content": "a"}]}),
    ("chat/completions", {"messages": [{"role": "developer", "content": ""}, {"role": "user", "content": "a"}]}),
    ("chat/completions", {"messages": [{"role": "system", "content": []}, {"role": "user", "content": "a"}]}),
])  # fmt: skip
def test_a_body_without_a_place_has_no_block(path: str, body: dict[str, object]) -> None:
    assert add_block(path, json.dumps(body).encode(), BLOCK) is None


def test_an_item_that_is_no_message_may_come_first() -> None:
    longer = add_block(
        "responses", b'{"input": [{"type": "reasoning"}, {"role": "user", "content": "a"}]}', BLOCK
    )
    assert longer is not None
    assert [item.get("role") for item in json.loads(longer)["input"]] == ["system", None, "user"]


def test_a_response_of_one_text_becomes_a_conversation() -> None:
    longer = add_block("responses", b'{"input":  "Capital of Per\\u00fa?" }', BLOCK)
    assert longer is not None
    system, user = json.loads(longer)["input"]
    assert (system, user) == ({"role": "system", "content": BLOCK}, json.loads(ASK))
    assert longer.endswith(b'"content": "Capital of Per\\u00fa?"}] }')


def test_a_block_names_the_edit_and_the_dates_of_each_fact() -> None:
    fact = {"edit": "a1", "subject": "Peru", "label": "capital", "object": "Cusco", "relation": "P36"}
    later = fact | {"edit": "b2", "object": "Lima", "begin": "1535", "end": "1821-07-28"}
    assert write_block([fact, later]).split("\n") == [
        PREAMBLE,
        "- [a1] Peru: capital: Cusco",
        "- [b2] Peru: capital: Lima (from 1535 until 1821-07-28)",
    ]
