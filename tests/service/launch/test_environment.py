"""An operator's Ray gets its environment from the same list as the launcher's Ray."""

from __future__ import annotations

import subprocess
import sys

from service.launch.environment import CLUSTER_ENVIRONMENT, RAY_ENVIRONMENT, REPLICA_ENVIRONMENT
from tests.cluster.running import ROOT, clean_environment


def test_a_shell_takes_it_over_with_one_command() -> None:
    command = f'eval "$({sys.executable} -m service.launch.environment)"; env'
    result = subprocess.run(
        ["sh", "-euc", command], cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=True
    )
    environment = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
    assert environment.items() >= CLUSTER_ENVIRONMENT.items()


def test_a_cluster_has_all_that_the_launchers_ray_has() -> None:
    assert CLUSTER_ENVIRONMENT.items() >= (RAY_ENVIRONMENT | REPLICA_ENVIRONMENT).items()
