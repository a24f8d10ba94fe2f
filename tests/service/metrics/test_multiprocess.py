"""The file of a process's values: none is mapped beyond its blocks, and none is lost for lack of room."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client.mmap_dict import MmapedDict

from service.metrics import pages as multiprocess
from service.metrics.pages import FIRST_BYTES, ReservedFile


@contextmanager
def room(n_bytes: int) -> Iterator[None]:
    """Let files grow to a size and no further, which fails as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def read(path: Path) -> dict[str, float]:
    return {key.strip(): value for key, value, _, _ in MmapedDict.read_all_values_from_file(path)}


def test_values_without_room_wait_and_are_written_when_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multiprocess, "RETRY_S", 0.0)
    path = tmp_path / "missing" / "counter_1.db"
    file, later = ReservedFile(str(path)), ReservedFile(str(path))
    with room(0):
        assert file.read_value("a") == (0.0, 0.0)
        file.write_value("a", 1.0, 0.0)
        assert not path.exists(), "the page of all processes cannot be made from an empty file"
    entries = {f"key {number} {'x' * 100}": float(number) for number in range(2 * FIRST_BYTES // 150)}
    with room(FIRST_BYTES):
        for key, value in entries.items():
            file.write_value(key, value, 0.0)
        file.write_value("a", 2.0, 0.0)
        assert read(path)["a"] == 2.0, "what has its place is written"
        assert path.stat().st_blocks * 512 >= path.stat().st_size == FIRST_BYTES
    file.write_value("a", 3.0, 0.0)
    assert read(path) == entries | {"a": 3.0}
    assert path.stat().st_blocks * 512 >= path.stat().st_size > FIRST_BYTES
    assert later.read_value("a") == (3.0, 0.0), "a process of the same id goes on from there"
    for values in (file, later):
        values.close()  # type: ignore[no-untyped-call]
