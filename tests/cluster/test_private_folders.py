"""Other users of the machine can read neither the logs of a running service nor the sockets of its Ray."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from service.launch.places import ray_folder
from tests.cluster.running import Service

OTHER_UID = 65_534


def run_as_another_user(*words: str | Path) -> str:
    """What the command complains of."""
    result = subprocess.run(
        words,
        user=OTHER_UID,
        group=OTHER_UID,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
        env={"LC_ALL": "C", "PATH": os.defpath},
    )
    return result.stderr


def test_after_the_start_every_folder_is_still_its_users_alone(service: Service) -> None:
    """Ray opens its own folder to all users while it starts, which is why that is inside another."""
    folders = [ray_folder(service.var), service.var / "log", service.var / "metrics", service.var / "valkey"]
    assert [oct(stat.S_IMODE(folder.stat().st_mode)) for folder in folders] == ["0o700"] * 4
    assert (service.var / "log" / "ray").resolve().is_relative_to(ray_folder(service.var))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_can_neither_list_nor_move_what_ray_has(service: Service) -> None:
    folder = ray_folder(service.var)
    [sockets] = folder.glob("*/session_latest/sockets")
    for words in (["ls", folder], ["ls", sockets], ["mv", sockets, f"{sockets}-elsewhere"]):
        assert "Permission denied" in run_as_another_user(*words)
    assert run_as_another_user("ls", folder.parent) == "", "what holds them off is that folder's mode"
    assert sockets.is_dir()
