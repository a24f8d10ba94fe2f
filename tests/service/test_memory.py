"""A process has the memory of its machine, or what its container, its unit or its scheduler lets it use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from service.machine import count_memory

MACHINE = "MemTotal:        4000000 kB\nMemFree:          100000 kB\nSwapTotal:       1000000 kB\n"
ALL = 5_000_000 * 1024


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        pytest.param("0::/\n", {"memory.max": "2000000000\n"}, 2_000_000_000, id="v2 container"),
        pytest.param("0::/\n", {"memory.max": "max\n"}, ALL, id="v2 container without a limit"),
        pytest.param("0::/\n", {"memory.max": "99000000000\n"}, ALL, id="v2 more than there is"),
        pytest.param(
            "0::/a.slice/b\n",
            {"a.slice/b/memory.max": "max\n", "a.slice/memory.max": "3000000000\n"},
            3_000_000_000,
            id="v2 group around it",
        ),
        pytest.param(
            "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n",
            {"memory/memory.limit_in_bytes": "1000000000\n", "cpu,cpuacct/memory.max": "1\n"},
            1_000_000_000,
            id="v1 container",
        ),
        pytest.param(
            "4:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, ALL, id="v1 without"
        ),
    ],
)
def test_a_limit_counts_where_it_is_lower(
    tmp_path: Path, membership: str, files: Mapping[str, str], expected: int
) -> None:
    (tmp_path / "machine").write_text(MACHINE)
    (tmp_path / "membership").write_text(membership)
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert count_memory(tmp_path / "machine", tmp_path / "membership", tmp_path / "groups") == expected
