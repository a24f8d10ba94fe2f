"""A checkpoint that comes as a `.tar.gz`, unpacked without trusting it.

The authors publish `ERNIE.tar.gz`: a folder with `ernie_config.json`, `pytorch_model.bin` and `vocab.txt`. Members are
copied as plain files into one folder, and an archive that names anything outside of it is refused whole.
"""

import gzip
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from models.checkpoint import CheckpointError

MAX_BYTES = 4 << 30  # Size of all members together; the authors' checkpoint has 0.5 GB
MAX_HEADER = 1 << 20  # Bytes that are read at once
MAX_MEMBERS = 1_000  # Number of members, so that a list without end is not read to its end


@contextmanager
def checkpoint_folder(path: Path, max_bytes: int = MAX_BYTES) -> Iterator[Path]:
    """Give the folder of a checkpoint, which for an archive exists inside the `with` block alone.

    Args:
        path: A folder, or an archive.
        max_bytes: Size that the members of an archive may have together.

    Raises:
        CheckpointError: The path is neither, or `unpack` refuses the archive.
    """
    if path.is_dir():
        yield path
    elif path.is_file():
        with tempfile.TemporaryDirectory(prefix="errata-ernie-") as folder:
            unpack(path, Path(folder), max_bytes)
            yield Path(folder)
    else:
        raise CheckpointError(f"{path} is neither a folder nor an archive")


def unpack(archive: Path, folder: Path, max_bytes: int = MAX_BYTES) -> None:
    """Copy the files of an archive into a folder, without the folders that they lie in.

    Raises:
        CheckpointError: The archive cannot be read, is too large, or has a member that is no plain file.
    """
    try:
        with _Gzip(archive) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
            n_bytes = 0
            for number, member in enumerate(tar):
                n_bytes += member.size
                if n_bytes > max_bytes or number >= MAX_MEMBERS:
                    raise CheckpointError(
                        f"{archive} unpacks to more than {max_bytes:,} bytes or {MAX_MEMBERS:,} files: no checkpoint"
                    )
                _copy(tar, member, folder, archive)
    except CheckpointError:
        raise
    except Exception as cause:  # bytes that are no archive raise errors of many kinds
        raise CheckpointError(f"{archive} cannot be unpacked ({cause}): fetch it again") from cause


class _Gzip(gzip.GzipFile):
    """A gzip file that gives no more at once than a header of an archive needs: `tarfile` reads headers whole."""

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > MAX_HEADER:
            raise CheckpointError(f"{self.name} has a header of {size:,} bytes: no checkpoint")
        return super().read(size)


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path, archive: Path) -> None:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or "\\" in member.name:
        raise CheckpointError(
            f"{archive} holds {member.name!r}, which lies outside of its folder: it is not unpacked"
        )
    if member.isdir():
        return
    source = tar.extractfile(member) if member.isreg() else None
    if source is None:
        raise CheckpointError(
            f"{archive} holds {member.name!r}, which is a link or a device: it is not unpacked"
        )
    target = folder / name.name
    if target.exists():
        raise CheckpointError(
            f"{archive} holds two files of the name {name.name!r}: unpack it and name a folder"
        )
    with source, target.open("xb") as file:
        shutil.copyfileobj(source, file)
