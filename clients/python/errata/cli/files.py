"""Files of a person that a command reads, or will write."""

from __future__ import annotations

from pathlib import Path

import typer


def check_writable(file: Path) -> None:
    try:
        file.open("ab").close()
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}; nothing was done") from error


def read_file(file: Path) -> bytes:
    """Return the bytes of a file; BadParameter where it cannot be read."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be read: {error.strerror}") from error


def decode(file: Path, data: bytes) -> str:
    """Return the text of a file; BadParameter where it is none."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{file} is not UTF-8: save it as UTF-8") from error


def read_text(file: Path) -> str:
    """Return the text of a file; BadParameter where it cannot be read or is none."""
    return decode(file, read_file(file)).replace("\r\n", "\n").replace("\r", "\n")
