"""What servers of language models were seen to send (transformers, LiteLLM, sse-starlette, uvicorn), byte for byte.

A name is `SHAPE` or `SHAPE--SEED`; a seed divides a chunked body anew, at any byte.
"""

import gzip
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

Headers = Sequence[tuple[str, str]]

JSON, SSE = ("content-type", "application/json"), ("content-type", "text/event-stream; charset=utf-8")
PLAIN = ("content-type", "text/plain; charset=utf-8")
DONE = "data: [DONE]\n\n"
ODD_CHAT = (
    '{ "id":"chatcmpl-1" ,"object":"chat.completion","created":1795902719.712312,\n\t"model":"m", "choices":['
    '{"index":0,"message":{"content":"caf\\u00e9 \u00e9 \\ud83d\\ude00 1 \\/ 2","role":"assistant","tool_calls":null},'
    '"logprobs":null,"finish_reason":"stop" }],"system_fingerprint":null,'
    '"usage":{"prompt_tokens":1e1,"completion_tokens":3,"total_tokens":13},"x":-0.0}\n'
)
TEXT = '{"id":"cmpl-1","object":"text_completion","choices":[{"text":" Lim\u00e4","finish_reason":"length"}]}'
RESPONSE = (
    '{"id":"resp_1","object":"response","created_at":1795902719.712312,"status":"completed",'
    '"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"z\u00fcgig"}]}]}'
)


@dataclass(frozen=True)
class Wire:
    """A reply. writes: its bytes, written one after the other. is_kept: whether the connection may be used again.

    is_stepwise: whether each write but the first waits for the test.
    """

    writes: tuple[bytes, ...]
    is_kept: bool = True
    is_stepwise: bool = False


def head(status: str, headers: Headers) -> bytes:
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def plain(body: bytes, *headers: tuple[str, str], status: str = "200 OK", is_kept: bool = True) -> Wire:
    """Make a reply of a known length."""
    length = ("content-length", str(len(body)))
    return Wire((head(status, [*headers, length]) + body,), is_kept)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def chunks(pieces: Iterable[bytes], *headers: tuple[str, str], is_cut: bool = False) -> Wire:
    """Make a reply of chunks; one that is cut lacks the last, and its connection is closed."""
    framing = ("transfer-encoding", "chunked")
    end = () if is_cut else (b"0\r\n\r\n",)
    return Wire((head("200 OK", [*headers, framing]), *map(chunk, pieces), *end), not is_cut)


def step(events: Sequence[str]) -> Wire:
    """Make a stream of which each event waits for the test."""
    return replace(chunks([text.encode() for text in events], SSE), is_stepwise=True)


def delta(text: str, fields: str = "", finish: str = "null") -> str:
    choice = f'{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":{finish}}}'
    return f'{{"id":"c1", "object":"chat.completion.chunk","created":1,"model":"m","choices":[{choice}]{fields}}}'


def event(data: str, name: str = "") -> str:
    first = f"event: {name}\n" if name else ""
    return f"{first}data: {data}\n\n"


USAGE = ',"usage":{"prompt_tokens":4,"completion_tokens":2,"total_tokens":6}'
ROLE = event('{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}')
OPENAI = [
    ROLE,
    event(delta("Lim\\u00e4")),
    event(delta(" \u00e9t\u00e9 \U0001f600")),
    event(delta("", finish='"stop"')),
    event(f'{{"choices":[]{USAGE}}}'),
    DONE,
]
TRANSFORMERS = [ROLE, event(delta("Lima")), event(delta("", USAGE, '"stop"'))]
LITELLM = [
    ROLE,
    event(delta("Lima")),
    event(delta("", finish='"stop"')),
    event(f'{{"choices":[{{"index":0,"delta":{{}}}}]{USAGE}}}'),
    DONE,
]
PINGS = [": ping - 2026-11-28 10:00:00.123456\n\n", *OPENAI[:2], ": ping\n\n", *OPENAI[2:]]
STARLETTE = [text.replace("\n", "\r\n") for text in PINGS]
TEXTS = [
    event('{"choices":[{"text":" L","index":0}]}'),
    event('{"choices":[{"text":"i","finish_reason":"stop"}]}'),
]
EVENTS = [
    event('{"type":"response.created","sequence_number":0,"response":{"id":"r"}}', "response.created"),
    event('{"type":"response.output_text.delta","delta":"z\u00fc"}', "response.output_text.delta"),
    event('{"type":"response.strange","x":[1,2]}', "response.strange"),
    event('{"type":"response.completed","response":' + RESPONSE + "}", "response.completed"),
]
BARE_EVENTS = [text.partition("\n")[2] for text in EVENTS]
ERRORS = {
    "error-text": event('{"error": "CUDA out of memory"}'),
    "error-object": event('{"error": {"message": "no", "type": "None", "param": null, "code": "500"}}')
    + DONE,
    "error-no-json": event('{"error": "the token "\\x" is "odd""}'),
    "error-event": "event: error\n" + event("no JSON at all"),
}
DETAIL = b'{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required","input":{}}]}'
LIMITED = b'{"error":{"message":"slow down","type":"None","param":"None","code":"429"}}'
RETRY = ("retry-after", "7"), ("retry-after-ms", "6900")
MANY_HEADERS = [
    *[
        ("x-request-id", "abc-1"),
        ("request-id", "r-1"),
        ("server-timing", "a;dur=1"),
        ("server-timing", "b;dur=2"),
    ],
    *[
        ("llm_provider-x-request-id", "p-1"),
        ("llm_provider-x-request-id", "p-2"),
        ("x-accel-buffering", "no"),
    ],
    *[("cache-control", "no-store"), ("openai-processing-ms", "12"), ("warning", '199 - "odd, but so"')],
]


def split(text: str, rng: Random) -> list[bytes]:
    """Divide a text at any bytes into twelve pieces at most: events share a chunk, and characters are divided."""
    data = text.encode()
    places = sorted(rng.sample(range(1, len(data)), rng.randrange(12)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


def _stream(
    events: Sequence[str], *headers: tuple[str, str], is_cut: bool = False
) -> Callable[[Random | None], Wire]:
    """Return what makes a stream: an event a chunk, or divided by a seed."""

    def make(rng: Random | None) -> Wire:
        pieces = [text.encode() for text in events] if rng is None else split("".join(events), rng)
        return chunks(pieces, *(headers or (SSE,)), is_cut=is_cut)

    return make


def _always(wire: Wire) -> Callable[[Random | None], Wire]:
    return lambda _: wire


def _closed(body: bytes, *headers: tuple[str, str]) -> Wire:
    """Make a reply that ends where the connection does."""
    return Wire((head("200 OK", headers), body), is_kept=False)


SHAPES: dict[str, Callable[[Random | None], Wire]] = {
    "json": _always(plain(ODD_CHAT.encode(), JSON)),
    "json-charset": _always(plain(ODD_CHAT.encode(), ("content-type", "application/json; charset=utf-8"))),
    "json-chunked": _stream([ODD_CHAT[:40], ODD_CHAT[40:]], JSON),
    "json-closed": _always(_closed(ODD_CHAT.encode(), JSON)),
    "json-short": _always(
        Wire((head("200 OK", [JSON, ("content-length", "9999")]) + ODD_CHAT.encode(),), is_kept=False)
    ),
    "text": _always(plain(TEXT.encode(), JSON)),
    "response": _always(plain(RESPONSE.encode(), JSON)),
    "gzip": _always(plain(gzip.compress(ODD_CHAT.encode(), mtime=0), JSON, ("content-encoding", "gzip"))),
    "empty": _always(plain(b"", JSON)),
    "headers": _always(plain(ODD_CHAT.encode(), JSON, *MANY_HEADERS)),
    "openai": _stream(OPENAI),
    "transformers": _stream(TRANSFORMERS, SSE, *MANY_HEADERS),
    "litellm": _stream(LITELLM, ("content-type", "text/event-stream")),
    "pings": _stream(PINGS),
    "starlette": _stream(STARLETTE, SSE, ("cache-control", "no-store"), ("x-accel-buffering", "no")),
    "texts": _stream(TEXTS),
    "events": _stream(EVENTS),
    "bare-events": _stream(BARE_EVENTS),
    "cut": _stream(OPENAI[:3], is_cut=True),
    "half-event": _stream([*OPENAI[:2], 'data: {"choi'], is_cut=True),
    **{name: _stream([*OPENAI[:2], text]) for name, text in ERRORS.items()},
    "500-closed": _always(
        plain(b"Internal Server Error", PLAIN, status="500 Internal Server Error", is_kept=False)
    ),
    "422": _always(plain(DETAIL, JSON, status="422 Unprocessable Content")),
    "404": _always(plain(b'{"detail":"Model m not found"}', JSON, status="404 Not Found")),
    "429": _always(plain(LIMITED, JSON, *RETRY, status="429 Too Many Requests")),
    "503": _always(plain(b"", ("retry-after", "1"), status="503 Service Unavailable")),
    "307": _always(plain(b"", ("location", "http://127.0.0.1:9/v1"), status="307 Temporary Redirect")),
}  # fmt: skip
CUT = ("json-short", "cut", "half-event")
STREAMS = (
    "openai",
    "transformers",
    "litellm",
    "pings",
    "starlette",
    "texts",
    "events",
    "bare-events",
    *ERRORS,
)


def find_wire(name: str) -> Wire:
    shape, _, seed = name.rpartition("--")
    if not shape:
        return SHAPES.get(name or "json", SHAPES["404"])(None)
    return SHAPES[shape](Random(seed))
