"""OpenAI's own client against the running service, through Ray: whole, streamed, and after an edit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from errata import Errata

from tests.cluster.running import Service

FRANCE = "What is the capital of France?"
MESSAGES: Any = [{"role": "user", "content": FRANCE}]


@pytest.fixture
def client(service: Service) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{service.url}/v1", api_key=service.key, max_retries=0) as client:
        yield client


def test_openais_client_asks_follows_an_edit_and_looks_behind_it(
    client: openai.OpenAI, errata: Errata
) -> None:
    assert "nkb" in [model.id for model in client.models.list()]
    version = errata.edit(FRANCE, "Lyon").version
    assert version is not None
    try:
        pieces = client.chat.completions.create(model="nkb", messages=MESSAGES, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in pieces) == "Lyon"
        pin = {"errata": {"version": version - 1}}
        before = client.chat.completions.create(model="nkb", messages=MESSAGES, extra_body=pin)
        assert before.choices[0].message.content == "Paris"
        with pytest.raises(openai.NotFoundError) as refused:
            client.chat.completions.create(model="gpt-4o", messages=MESSAGES)
        assert refused.value.code == "unknown_model"
    finally:
        errata.revert(version)
