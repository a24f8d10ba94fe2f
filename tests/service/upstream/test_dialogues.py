"""An edit's answer is a turn of the conversation: the client sends it back, and the model goes on from it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import openai
import pytest

from tests.service.http.conftest import KEY
from tests.service.upstream.front import Front, run_front
from tests.service.upstream.stub import Stub, run_stub

FIRST, SECOND, THIRD = (
    "How tall is the mast at Oberau?",
    "What is the capital of Peru?",
    "and who governs it?",
)


@pytest.fixture
async def stub() -> AsyncIterator[Stub]:
    async with run_stub() as stub:
        yield stub


@pytest.fixture
async def front(stub: Stub, tmp_path: Path) -> AsyncIterator[Front]:
    async with run_front(tmp_path, stub.url) as front:
        yield front


@pytest.fixture
async def client(front: Front) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{front.url}/v1", api_key=KEY, max_retries=0) as client:
        yield client


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_dialogue_of_three_turns_goes_on_from_an_edits_answer(
    front: Front, stub: Stub, client: openai.AsyncOpenAI, is_stream: bool
) -> None:
    edit = await front.edit(SECOND, "Cusco")
    messages: list[dict[str, str]] = []
    outcomes = []
    for question in (FIRST, SECOND, THIRD):
        messages.append({"role": "user", "content": question})
        raw = client.chat.completions.with_raw_response
        model = "team/openai" if is_stream else "team/json"
        reply = await raw.create(model=model, messages=messages, stream=is_stream)
        outcomes.append(reply.headers["x-errata-outcome"])
        answer = reply.parse()
        if is_stream:
            content = "".join(
                [chunk.choices[0].delta.content or "" async for chunk in answer if chunk.choices]
            )
        else:
            content = answer.choices[0].message.content
        messages.append({"role": "assistant", "content": content})
        if question == SECOND:
            assert (content, reply.headers["x-errata-edit"]) == ("Cusco", edit)
            assert int(reply.headers["x-errata-version"]) == 1
    assert outcomes == ["passed", "edit", "passed"]
    assert json.loads(stub.requests[-1].body)["messages"] == messages[:-1]  # with the edit's answer
    assert len(stub.requests) == 2


async def test_all_shapes_of_an_edits_answer_are_read_by_the_client(
    front: Front, client: openai.AsyncOpenAI
) -> None:
    await front.edit(SECOND, "Cusco")
    ask = {"model": "team/json", "messages": [{"role": "user", "content": SECOND}]}
    async with client.chat.completions.stream(**ask, stream_options={"include_usage": True}) as stream:
        events = [event.type async for event in stream]
        final = await stream.get_final_completion()
    assert (final.choices[0].message.content, final.choices[0].finish_reason) == ("Cusco", "stop")
    assert final.usage is not None
    assert final.model_extra is not None
    assert final.model_extra["errata"]["answer"] == "Cusco"
    assert "content.done" in events
    choices_of_three = await client.chat.completions.create(**ask, n=3)
    assert [choice.message.content for choice in choices_of_three.choices] == ["Cusco"] * 3
    assert [choice.index for choice in choices_of_three.choices] == [0, 1, 2]
    cut = await client.chat.completions.create(**ask, stop="s")
    assert cut.choices[0].message.content == "Cu"
    response = await client.responses.create(model="team/response", input=SECOND)
    assert response.output_text == "Cusco"
    async with client.responses.stream(model="team/response", input=SECOND) as response_stream:
        async for _ in response_stream:
            pass
        assert (await response_stream.get_final_response()).output_text == "Cusco"
    text = await client.completions.create(model="team/text", prompt=SECOND)
    assert text.choices[0].text.strip() == "Cusco"
