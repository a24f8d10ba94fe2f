"""What a curator types and reads: each command prints what its page says, and nothing else.

Pages are read as tests/readme reads README.md: `...` stands for anything, times and decimals may differ. `[exit 1]` is
an exit status, `id:3.1` the id of the first edit of version 3, `ERRATA_KEY=bo` the key that the page made for bo.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from pathlib import Path

import pytest

from tests.readme.test_readme import ROOT, find_difference, read_commands
from tests.service.http.conftest import KEY, Run

PAGES = [str(page.relative_to(ROOT)) for page in sorted(Path(__file__).parent.glob("*.md"))]
EDIT = re.compile(r"id:(\d+)\.(\d+)")
NEW_KEY = re.compile(r"The key of (\w+),.*?^\s+(\S+)$", re.MULTILINE | re.DOTALL)
END = "[end]"


async def perform(text: str, run: Run, keys: dict[str, str]) -> str:
    """Return what a command prints, and its exit status if that is not 0; note a key that it makes."""
    words, name = shlex.split(text), ""
    if words[0].startswith("ERRATA_KEY="):
        name = words.pop(0).partition("=")[2]
    for place, word in enumerate(words):
        if match := EDIT.fullmatch(word):
            commit = json.loads((await run("show", match[1], "--json")).stdout)
            words[place] = commit["edits"][int(match[2]) - 1]["id"]
    result = await run(*words[1:], key=keys[name])
    keys |= dict(NEW_KEY.findall(result.output))
    return result.output + (f"[exit {result.exit_code}]\n" if result.exit_code else "")


@pytest.mark.parametrize("page", PAGES)
async def test_every_command_prints_what_the_page_says(page: str, run: Run, tmp_path: Path) -> None:
    keys = {"": KEY}
    for command in read_commands(page):
        if command.text.startswith("cat > "):
            words, _, content = command.text.removesuffix("END").partition("\n")
            (tmp_path / words.split()[2]).write_text(content)
            continue
        may_be_late = command.text == "errata gaps" or "errata show" in command.text
        for wait_s in (0.0, 0.1, 0.5, 2.0) if may_be_late else (0.0,):
            await asyncio.sleep(wait_s)  # questions are counted, and reports measured, a moment later
            output = await perform(command.text, run, keys) + END
            if (difference := find_difference((*command.lines, END), output)) is None:
                break
        assert difference is None, f"{command.place}: {difference!r} is not where it should be in\n{output}"


def test_there_is_a_page_of_each_matter() -> None:
    assert len(PAGES) >= 7
