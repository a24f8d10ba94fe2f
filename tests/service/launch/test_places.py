"""The service starts only if its port and its folder belong to it alone."""

import os
import socket
import stat
import tempfile
from pathlib import Path

import pytest

from service.launch.ledger import CannotStart
from service.launch.places import check_port, claim, free_port, ray_folder


@pytest.mark.parametrize(
    ("host", "port", "says"),
    [
        *(("127.0.0.1", port, f"{port} is not a port") for port in (0, 65_536, -1)),
        *((host, None, host) for host in ("no such host", "192.0.2.77")),
    ],
)
def test_a_port_that_is_none_and_an_address_of_somebody_else_are_named(
    host: str, port: int | None, says: str
) -> None:
    with pytest.raises(CannotStart, match=says):
        check_port(host, free_port() if port is None else port)


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_a_taken_port_is_named(host: str, family: socket.AddressFamily) -> None:
    with socket.create_server((host, 0), family=family) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(CannotStart, match=f"port {port} of {host} .* --port"):
            check_port(host, port)
    check_port(host, port)


def test_a_folder_is_claimed_by_one_at_a_time(tmp_path: Path) -> None:
    with claim(tmp_path / "var", "127.0.0.1", free_port()) as claimed_places:
        assert claimed_places.log.is_dir()
        with (
            pytest.raises(CannotStart, match=f"process {os.getpid()}"),
            claim(tmp_path / "var", "127.0.0.1", free_port()),
        ):
            pass
    with claim(tmp_path / "var", "127.0.0.1", free_port()):
        pass


def test_counters_of_an_earlier_run_are_forgotten_and_edits_are_not(tmp_path: Path) -> None:
    for name in ("metrics/counter_1.db", "valkey/appendonlydir/log"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    with claim(tmp_path, "127.0.0.1", free_port()) as claimed_places:
        assert list(claimed_places.metrics.iterdir()) == []
        assert (tmp_path / "valkey/appendonlydir/log").exists()


def test_rays_folder_is_short_in_a_private_one_and_each_services_own(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 200)
    assert ray_folder(deep) != ray_folder(tmp_path)
    with claim(deep, "127.0.0.1", free_port()) as claimed_places:
        assert len(os.fsencode(claimed_places.ray)) < 40, "Ray's sockets get about 65 bytes longer names"
        assert claimed_places.ray.parent == ray_folder(deep)
        assert mode(ray_folder(deep)) == 0o700
    assert not ray_folder(deep).exists(), "nothing has run"


def test_a_temporary_folder_that_is_too_deep_for_sockets_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, parent in (("/scratch/job.1", "/scratch/job.1"), ("/scratch/slurm/job.1234567", "/tmp")):
        monkeypatch.setattr(tempfile, "tempdir", folder)
        path = ray_folder(tmp_path)
        assert path.parent == Path(parent)
        longest = path / "r" / "session_2026-11-26_22-43-50_280804_4194304" / "sockets" / "plasma_store"
        assert len(os.fsencode(longest)) <= 107


def test_logs_and_metrics_are_closed_to_others_also_where_they_were_open(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir(mode=0o755)
    (tmp_path / "log" / "errata.log").touch(0o644)
    with claim(tmp_path, "127.0.0.1", free_port()) as claimed_places:
        assert [mode(folder) for folder in (claimed_places.log, claimed_places.metrics)] == [0o700] * 2
    assert (tmp_path / "log" / "errata.log").exists()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_rays_folder_is_no_link_to_another(tmp_path: Path) -> None:
    """Its name can be predicted, and its content is deleted at the next start."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    trap = ray_folder(tmp_path / "var")
    trap.symlink_to(precious)
    try:
        with pytest.raises(CannotStart, match=str(trap)), claim(tmp_path / "var", "127.0.0.1", free_port()):
            pass
    finally:
        trap.unlink()
    assert (precious / "file").exists()
