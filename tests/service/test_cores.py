"""A process computes on no more cores than its container, its unit or its scheduler lets it use."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from service.cores import count_cores

N_SCHEDULED = 8  # cores on which the process is scheduled


@pytest.fixture(autouse=True)
def _scheduled_on_eight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(N_SCHEDULED)))


def count(tmp_path: Path, membership: str, files: Mapping[str, str]) -> int:
    (tmp_path / "membership").write_text(membership)
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return count_cores(tmp_path / "membership", tmp_path / "groups")


V1 = "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n"


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        pytest.param("0::/\n", {"cpu.max": "400000 100000\n"}, 4, id="v2 container"),
        pytest.param("0::/\n", {"cpu.max": "max 100000\n"}, N_SCHEDULED, id="v2 container without a quota"),
        pytest.param("0::/\n", {"cpu.max": "1600000 100000\n"}, N_SCHEDULED, id="v2 more than there are"),
        pytest.param("0::/\n", {"cpu.max": "250000 100000\n"}, 2, id="v2 part of a core"),
        pytest.param("0::/\n", {"cpu.max": "50000 100000\n"}, 1, id="v2 less than a core"),
        pytest.param("0::/\n", {}, N_SCHEDULED, id="v2 outermost group has no file"),
        pytest.param(
            "0::/system.slice/errata.service\n",
            {
                "system.slice/errata.service/cpu.max": "200000 100000\n",
                "system.slice/cpu.max": "max 100000\n",
            },
            2,
            id="v2 systemd unit",
        ),
        pytest.param(
            "0::/a.slice/b\n",
            {"a.slice/b/cpu.max": "600000 100000\n", "a.slice/cpu.max": "300000 100000\n"},
            3,
            id="v2 group around it",
        ),
        pytest.param(
            V1,
            {"cpu,cpuacct/cpu.cfs_quota_us": "400000\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n"},
            4,
            id="v1 container",
        ),
        pytest.param(
            V1,
            {"cpu/docker/abc/cpu.cfs_quota_us": "150000\n", "cpu/docker/abc/cpu.cfs_period_us": "50000\n"},
            3,
            id="v1 group seen from the host",
        ),
        pytest.param(
            V1,
            {"cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n"},
            N_SCHEDULED,
            id="v1 without a quota",
        ),
        pytest.param(
            "4:memory:/x\n0::/x\n",
            {"memory/x/cpu.max": "100000 100000\n"},
            N_SCHEDULED,
            id="not the processor's",
        ),
        pytest.param("3:cpu:/\n0::/\n", {"unified/cpu.max": "100000 100000\n"}, 1, id="both versions"),
    ],
)
def test_a_quota_of_time_counts_as_cores(
    tmp_path: Path, membership: str, files: Mapping[str, str], expected: int
) -> None:
    assert count(tmp_path, membership, files) == expected
