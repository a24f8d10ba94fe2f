"""Runs extraction in a separate process, so that a hostile file can end only that process."""

import asyncio
import json
import sys
from typing import NamedTuple

MAX_FILE_BYTES = 20_000_000  # bytes of a file
MAX_MEMORY_BYTES = 1_500_000_000  # bytes of address space that reading a file may take
MAX_SECONDS = 30  # seconds of processor time, and of waiting, that reading a file may take
AT_ONCE = 2  # files that are read at the same time by one ingress


class FileText(NamedTuple):
    text: str  # the text, with an empty line between paragraphs
    title: str  # the title in the file's metadata, or ""


class Unreadable(Exception):
    """A file has no text that can be read; the message says why and what to do."""


class Extractor:
    """Reads files, a few at a time."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def extract(self, media_type: str, data: bytes) -> FileText:
        """Return the text of a file.

        Args:
            media_type: One that `__main__.READERS` has.

        Raises:
            Unreadable: The file has no text that can be read, or takes too much memory or time.
        """
        async with self._turns:
            child = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "service.extraction",
                media_type,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
            try:
                async with asyncio.timeout(MAX_SECONDS):
                    output, _ = await child.communicate(data)
            except TimeoutError:
                output = b""
            finally:
                if child.returncode is None:
                    child.kill()
                    await child.wait()
        if child.returncode != 0 or not output:
            raise Unreadable(
                f"reading this file takes more than {MAX_SECONDS} s or {MAX_MEMORY_BYTES / 1e9:.1f} GB of memory: "
                "split it, or send its text"
            )
        reply = json.loads(output)
        if "error" in reply:
            raise Unreadable(reply["error"])
        return FileText(**reply)
