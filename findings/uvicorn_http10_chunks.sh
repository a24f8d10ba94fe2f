#!/usr/bin/env bash
# uvicorn 0.54 with httptools, its default where that is installed: a streamed response goes out in chunks to a client of
# HTTP/1.0, too, which knows no chunked coding.
# Most would expect the body as it is, ended by the connection's end (RFC 9112, 6.1: no Transfer-Encoding to HTTP/1.0).
# Seen: the header and the sizes of chunks within the body; with h11 the body is plain.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q "uvicorn==0.54.0" httptools h11
"$folder/venv/bin/python" - <<'PY'
import asyncio
from importlib.metadata import version

import uvicorn


async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for piece in (b"one ", b"two"):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def ask(protocol):
    config = uvicorn.Config(app, host="127.0.0.1", port=0, http=protocol, lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.0\r\nhost: x\r\n\r\n")
    reply = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    server.should_exit = True
    await task
    return reply


print("uvicorn", version("uvicorn"))
for protocol in ("httptools", "h11"):
    reply = asyncio.run(ask(protocol))
    chunked = b"transfer-encoding: chunked" in reply.lower()
    print(protocol, "chunked" if chunked else "plain", reply.partition(b"\r\n\r\n")[2])
    assert chunked == (protocol == "httptools"), "the two protocols answer HTTP/1.0 in another way now"
PY
