#!/usr/bin/env bash
# mcp 2.3: a tool's argument that may be a text or nothing is read as JSON where its text happens to be JSON.
# Most would expect a text to arrive as it was sent. Seen: "[0, 1]" for `str | None` is refused as a list, "null" arrives
# as None, and only a parameter that is plain `str` keeps its text.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q "mcp==2.3.0"
"$folder/venv/bin/python" - <<'PY'
import asyncio
from importlib.metadata import version

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("texts")


@server.tool()
def plain(answer: str) -> str:
    return repr(answer)


@server.tool()
def optional(answer: str | None = None) -> str:
    return repr(answer)


async def call(tool: str, text: str) -> str:
    try:
        return str(await server.call_tool(tool, {"answer": text}))
    except ToolError as error:
        return f"refused: {error}"


async def main() -> None:
    print("mcp", version("mcp"))
    seen = {(tool, text): await call(tool, text) for tool in ("plain", "optional") for text in ("[0, 1]", "null")}
    for (tool, text), reply in seen.items():
        print(f"{tool}({text!r}): {reply[:90]}")
    assert "'[0, 1]'" in seen["plain", "[0, 1]"] and "'null'" in seen["plain", "null"]
    assert seen["optional", "[0, 1]"].startswith("refused"), "it is no longer read as JSON"
    assert "'null'" not in seen["optional", "null"] and "None" in seen["optional", "null"]


asyncio.run(main())
PY
