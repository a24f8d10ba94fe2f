"""An archive is unpacked into one folder, or is refused before it writes anywhere else."""

import gzip
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from models.checkpoint import CheckpointError
from models.thu_ernie import archive
from models.thu_ernie.archive import checkpoint_folder, unpack


def member(name: str, content: bytes = b"{}", kind: bytes = tarfile.REGTYPE) -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.size, entry.type = len(content), kind
    if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
        entry.linkname, entry.size = "/etc/passwd", 0
    return entry, content


def write(path: Path, members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for entry, content in members:
            tar.addfile(entry, io.BytesIO(content) if entry.size else None)
    return path


def test_files_are_unpacked_without_the_folder_that_they_lie_in(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.tar.gz",
        [member("ernie_base", b"", tarfile.DIRTYPE), member("ernie_base/vocab.txt", b"jim")],
    )
    with checkpoint_folder(path) as folder:
        assert [file.name for file in folder.iterdir()] == ["vocab.txt"]
        assert (folder / "vocab.txt").read_bytes() == b"jim"
    assert not folder.exists()


def test_a_folder_is_read_where_it_lies(tmp_path: Path) -> None:
    with checkpoint_folder(tmp_path) as folder:
        assert folder == tmp_path
    with (
        pytest.raises(CheckpointError, match="neither a folder nor an archive"),
        checkpoint_folder(tmp_path / "none"),
    ):
        pass


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        (member("../evil.txt"), r"'../evil.txt', which lies outside"),
        (member("ernie/../../evil.txt"), "which lies outside"),
        (member("/evil.txt"), "which lies outside"),
        (member("..\\evil.txt"), "which lies outside"),
        (member("vocab.txt", b"", tarfile.SYMTYPE), "'vocab.txt', which is a link or a device"),
        (member("vocab.txt", b"", tarfile.LNKTYPE), "which is a link or a device"),
        (member("vocab.txt", b"", tarfile.FIFOTYPE), "which is a link or a device"),
    ],
)
def test_a_member_that_reaches_elsewhere_is_refused_by_name(
    entry: tuple[tarfile.TarInfo, bytes], sentence: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.tar.gz", [entry])
    folder = tmp_path / "in" / "folder"
    folder.mkdir(parents=True)
    with pytest.raises(CheckpointError, match=sentence):
        unpack(path, folder)
    assert {file.name for file in tmp_path.rglob("*")} == {"a.tar.gz", "in", "folder"}


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar.gz", [member("a/vocab.txt"), member("b/vocab.txt")])
    with pytest.raises(CheckpointError, match=r"two files of the name 'vocab.txt'"), checkpoint_folder(path):
        pass


def test_an_archive_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.tar.gz", [member("a", bytes(600)), member("b", bytes(600))])
    with (
        pytest.raises(CheckpointError, match="more than 1,000 bytes"),
        checkpoint_folder(path, max_bytes=1_000),
    ):
        pass
    monkeypatch.setattr(archive, "MAX_MEMBERS", 1)
    with pytest.raises(CheckpointError, match="or 1 files"), checkpoint_folder(path):
        pass


def test_a_header_that_would_fill_the_memory_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    entry = tarfile.TarInfo("././@LongLink")
    entry.type, entry.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
    with gzip.open(path, "wb") as stream:
        stream.write(entry.tobuf(tarfile.GNU_FORMAT))
    with pytest.raises(CheckpointError, match="a header of 1,073,741,824 bytes"), checkpoint_folder(path):
        pass


@pytest.mark.parametrize(
    "content",
    [b"", b"no archive", gzip.compress(b"no archive either" * 100)],
    ids=["nothing", "text", "a text in gzip"],  # gzip writes the time, which would be in the name of the test
)
def test_bytes_that_are_no_archive_are_refused_by_name(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"a\.tar\.gz cannot be unpacked"), checkpoint_folder(path):
        pass


def test_half_an_archive_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar.gz", [member("a", bytes(range(256)) * 50)])
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(CheckpointError, match="cannot be unpacked"), checkpoint_folder(path):
        pass
