"""A file is sent piece by piece, never as a whole; an unsendable file is refused before anything is sent."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from threading import Thread

import pytest
from errata import files
from errata.files import Download, Upload
from errata.wire import ImportProgress


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PIECE_BYTES", 4)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "a.tsv").write_bytes(b"0123456789")
    return tmp_path / "a.tsv"


def test_a_file_goes_piece_by_piece_and_each_is_told(file: Path) -> None:
    events: list[ImportProgress] = []
    sending = Upload(file, events.append)
    assert list(sending) == [b"0123", b"4567", b"89"]
    assert [(event.phase, event.done, event.total) for event in events] == [
        ("sending", n, 10) for n in (4, 8, 10)
    ]


def test_it_is_whole_only_when_the_last_piece_was_taken(file: Path) -> None:
    sending = Upload(file)
    pieces = iter(sending)
    for _ in range(3):
        next(pieces)
        assert not sending.whole
    assert next(pieces, None) is None
    assert sending.whole


@pytest.mark.parametrize("kind", ["path", "file", "part of a file"])
def test_what_can_be_read_again_is_read_from_its_first_byte(file: Path, kind: str) -> None:
    with file.open("rb") as stream:
        stream.seek(5 if kind == "part of a file" else 0)
        sending = Upload(file if kind == "path" else stream)
        first = b"".join(sending)
        assert sending.rewind()
        assert b"".join(sending) == first == (b"56789" if kind == "part of a file" else b"0123456789")
        assert not stream.closed


def test_a_named_pipe_is_opened_once_and_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(b"0123456789",), daemon=True)
    writer.start()
    sending = Upload(pipe)
    assert sending.total_bytes is None
    assert b"".join(sending) == b"0123456789"


def test_what_went_into_a_pipe_is_not_received_again(tmp_path: Path) -> None:
    stream = BytesIO()
    for into, is_repeatable in ((stream, False), (tmp_path / "backup.tar", True)):
        download = Download(into)
        assert download.repeatable
        download.write(b"half of it")
        download.discard()
        assert download.repeatable is is_repeatable
    assert list(tmp_path.iterdir()) == []
