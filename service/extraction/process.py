"""Runs extraction in a separate process, so that a hostile file can end only that process."""

import asyncio
import json
import resource
import sys
from collections import Counter
from collections.abc import Iterator
from subprocess import DEVNULL, PIPE, Popen
from typing import BinaryIO, NamedTuple

from errata.tables.limits import MAX_MEMORY_BYTES, MAX_SECONDS
from errata.tables.workbook import Row, WorkbookError

MAX_NAME = 1_000  # characters of the name of a sheet, which has 31 in Excel
AT_ONCE = 2  # files that are read at the same time by one ingress


class FileText(NamedTuple):
    text: str  # the text, with an empty line between paragraphs
    title: str  # the title in the file's metadata, or ""


class Unreadable(Exception):
    """A file has no text that can be read; the message says why and what to do."""


def bound_process(seconds: int) -> None:
    """Let this process end itself when it takes more memory or processor time than a file may cost."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def read_rows(file: BinaryIO, sheet: str, seconds: int, hidden: Counter[str] | None = None) -> Iterator[Row]:
    """Yield the rows of a workbook, as `errata.tables.workbook.read_sheet` does.

    Args:
        file: A file on the disk.
        sheet: Name of the sheet; "" for the only one.
        seconds: Processor time that reading may take.
        hidden: Gets the counts of rows and columns that are left out because they are hidden.

    Raises:
        WorkbookError: It cannot be read, or takes too much memory or time.
    """
    file.seek(0)
    command = [sys.executable, "-m", "service.extraction.sheet", json.dumps(sheet[:MAX_NAME]), str(seconds)]
    with Popen(command, stdin=file, stdout=PIPE, stderr=DEVNULL) as child:
        assert child.stdout
        try:
            for line in child.stdout:
                row = json.loads(line)
                if isinstance(row, str):
                    raise WorkbookError(row)
                if isinstance(row, dict):
                    if hidden is not None:
                        hidden.update(row)
                    return
                yield row[0], row[1]
        finally:
            child.kill()
    memory = f"{MAX_MEMORY_BYTES / 1e9:.1f} GB of memory"
    raise WorkbookError(f"reading it takes more than {seconds} s or {memory}: save the sheet as CSV")


class Extractor:
    """Reads files, a few at a time."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def extract(self, media_type: str, data: bytes, charset: str = "") -> FileText:
        """Return the text of a file.

        Args:
            media_type: One that `__main__.READERS` has.
            data: The file.
            charset: The encoding that the sender names, or "".

        Raises:
            Unreadable: The file has no text that can be read, or takes too much memory or time.
        """
        async with self._turns:
            child = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "service.extraction",
                media_type,
                charset,
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
