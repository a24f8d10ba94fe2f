"""`python openai_calls.py URL KEY MODEL QUESTION...`: what OpenAI's client makes of each question's answer, as JSON.

It runs in a venv of its own, without this repository. A call that raises has the name of its error as its answer.
"""

import json
import sys
from typing import Any

import openai

LIMITS: dict[str, Any] = {"temperature": 0}


def main(url: str, key: str, model: str, *questions: str) -> None:
    client = openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=60)

    def chat(question: str) -> dict[str, Any]:
        messages = [{"role": "user", "content": question}]
        return {"model": model, "messages": messages, "max_tokens": 12, **LIMITS}

    def create(question: str) -> str:
        return client.chat.completions.create(**chat(question)).choices[0].message.content

    def stream(question: str) -> str:
        chunks = client.chat.completions.create(**chat(question), stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    def stream_with_helper(question: str) -> str:
        with client.chat.completions.stream(**chat(question)) as events:
            return "".join(event.delta for event in events if event.type == "content.delta")

    def respond(question: str) -> str:
        return client.responses.create(
            model=model, input=question, max_output_tokens=12, stream=False, **LIMITS
        ).output_text

    def respond_in_events(question: str) -> str:
        with client.responses.stream(model=model, input=question, max_output_tokens=12, **LIMITS) as events:
            return events.get_final_response().output_text

    answers: dict[str, list[str]] = {}
    for call in (create, stream, stream_with_helper, respond, respond_in_events):
        answers[call.__name__] = []
        for question in questions:
            try:
                answers[call.__name__].append(call(question))
            except Exception as error:
                answers[call.__name__].append(f"{type(error).__name__}: {error}"[:200])
    print(json.dumps({"version": openai.__version__, "answers": answers}))


if __name__ == "__main__":
    main(*sys.argv[1:])
