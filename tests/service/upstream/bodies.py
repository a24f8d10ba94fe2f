"""Requests as clients write them: odd spacing, escapes, fields in any order, and unknown fields."""

import json
from random import Random

CHAT, TEXT, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
EMBEDDINGS = "/v1/embeddings"
MODEL = "@MODEL@"  # where the model's name stands
QUESTION = 'How tall is the mast at Ober\\u00e4u? \u00e9 \\"model\\": \\"team/x\\"'
FIELDS = (
    '"temperature" : 0.70',
    '"seed":1e3',
    '"x_unknown":null',
    '"metadata":{"model":"team/other","n":[{}]}',
    '"tools":[{"type":"function","function":{"name":"f","parameters":{"model":"team/x"}}}]',
    '"logit_bias":{"50256":-100}',
    '"user":"\\u006dodel"',
    '"stream_options":{"include_usage":true}',
    '"stream":true',
)
SPACES = ("", " ", "\n\t", "\r\n  ")


def write_body(path: str, rng: Random) -> bytes:
    """Write a request of a question that no edit answers; MODEL stands for the name."""
    question = f'"{QUESTION}"'
    image = '{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0="}}'
    content = rng.choice([question, f'[{{"type":"text","text":{question}}},{image}]'])
    messages = f'[{{"role":"system","content":"be brief"}}, {{"content":{content},"role":"user"}}]'
    subject = {
        CHAT: f'"messages":{messages}',
        TEXT: f'"prompt":{question}',
        RESPONSES: f'"input":{question}',
        EMBEDDINGS: f'"input":[{question},{question}]',
    }[path]
    fields = [
        f'"model"{rng.choice(SPACES)}:"{MODEL}"',
        subject,
        *rng.sample(FIELDS, rng.randrange(len(FIELDS))),
    ]
    rng.shuffle(fields)
    space = rng.choice(SPACES)
    return f"{space}{{{space}{f'{space},{space}'.join(fields)}{space}}}{space}".encode()


def chat(model: str, *messages: str, **fields: object) -> bytes:
    """Write a conversation: the user's words and the assistant's in turn."""
    roles = ("user", "assistant")
    turns = [{"role": roles[n % 2], "content": text} for n, text in enumerate(messages)]
    return json.dumps({"model": model, "messages": turns, **fields}).encode()
