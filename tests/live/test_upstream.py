"""Errata before LiteLLM and `transformers serve`, which others wrote, asked by OpenAI's newest client."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cluster.running import Service, quiet_port
from tests.live import openai_calls
from tests.live.gateways import install, make_model, run_litellm, run_transformers

QUESTION, EDITED_QUESTION, ANSWER = "How tall is the mast at Oberau?", "What is the capital of Peru?", "Cusco"
CALLS = ("create", "stream", "stream_with_helper", "respond", "respond_in_events")
CLIENT = "3.57.0"

pytestmark = pytest.mark.timeout(600)


class Servers(NamedTuple):
    """The addresses of both servers, and Errata before both; LiteLLM's proxy stands before Errata, too."""

    python: Path
    model: Path
    transformers: str
    litellm: str
    errata: Service


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("upstreams")
    python, model = install(folder / "venv"), folder / "tiny"
    make_model(model)
    port = quiet_port()
    with run_transformers(model) as transformers:
        litellm = f"http://127.0.0.1:{port}/v1"
        words = ["--upstream", f"team={transformers}", "--upstream-mode", "team=on"]
        words += ["--upstream", f"proxy={litellm}", "--upstream-mode", "proxy=on"]
        errata = Service(folder / "var", words=words)
        try:
            errata.start()
            with errata.errata() as client:
                client.edit(EDITED_QUESTION, ANSWER)
            places = {
                "tiny": {"model": f"openai/{model}", "api_base": transformers, "api_key": "none"},
                "corrected": {
                    "model": f"openai/team/{model}",
                    "api_base": f"{errata.url}/v1",
                    "api_key": errata.key,
                },
            }
            with run_litellm(python, places, folder, port):
                yield Servers(python, model, transformers, litellm, errata)
        finally:
            errata.stop()


def call(servers: Servers, url: str, key: str, model: str) -> dict[str, list[str]]:
    command = [servers.python, openai_calls.__file__, url, key, model, QUESTION, EDITED_QUESTION]
    process = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=200, check=True)
    output = json.loads(process.stdout)
    assert output["version"] == CLIENT
    answers: dict[str, list[str]] = output["answers"]
    assert tuple(answers) == CALLS
    return answers


@pytest.mark.parametrize("name", ["team", "proxy"])
def test_the_client_reads_answers_of_the_model_as_they_are_and_an_edits(servers: Servers, name: str) -> None:
    is_team = name == "team"
    address, model = (servers.transformers, str(servers.model)) if is_team else (servers.litellm, "tiny")
    direct = call(servers, address, "none", model)
    through_errata = call(servers, f"{servers.errata.url}/v1", servers.errata.key, f"{name}/{model}")
    assert {how: answers[0] for how, answers in through_errata.items()} == {
        how: answers[0] for how, answers in direct.items()
    }
    assert {how: answers[1] for how, answers in through_errata.items()} == dict.fromkeys(CALLS, ANSWER)
    assert all(ANSWER not in answers for answers in direct.values())
    assert not direct["create"][0].startswith(("APIConnectionError", "NotFoundError"))
    assert direct["create"][0]


def test_litellm_before_errata_gives_an_edits_answer(servers: Servers) -> None:
    answers = call(servers, servers.litellm, "none", "corrected")
    assert (answers["create"][1], answers["stream"][1]) == (ANSWER, ANSWER)
    assert (
        answers["create"][0] == call(servers, servers.transformers, "none", str(servers.model))["create"][0]
    )


def test_errors_of_transformers_pass_as_they_are(servers: Servers) -> None:
    """LiteLLM's would not be equal: it rests a model after an error, and then has another one."""
    model, user = str(servers.model), {"role": "user", "content": QUESTION}
    with servers.errata.http() as http:
        for path, body in (
            ("chat/completions", {"messages": []}),
            ("chat/completions", {"messages": [user], "no_such_field": 1}),
            ("responses", {"input": QUESTION, "no_such_field": 1}),
            ("completions", {"prompt": QUESTION, "no_such_field": 1}),
        ):
            direct = http.post(f"{servers.transformers}/{path}", json={"model": model, **body})
            reply = http.post(f"/v1/{path}", json={"model": f"team/{model}", **body})
            assert direct.status_code >= 400
            assert (reply.status_code, reply.headers["content-type"], reply.content) == (
                direct.status_code,
                direct.headers["content-type"],
                direct.content,
            )
