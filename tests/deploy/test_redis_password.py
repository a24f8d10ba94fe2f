"""The service's password is changed while the server runs, and the old one opens until it is told otherwise.

valkey-cli is no part of the wheel: what stands for it sends its words with redis-py, as the user that they name.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from tests.deploy.acl_valkey import HOST, PASSWORD, REDIS, AclValkey, start_acl_valkey

NEW = "another-password-of-errata"
CLI = f"""#!{sys.executable}
import os, sys
import redis
quiet, user, operator, port, number, *words = sys.argv[1:]
assert (quiet, user, port) == ("-e", "--user", "-p")
server = redis.Redis(port=int(number), username=operator, password=os.environ["REDISCLI_AUTH"], decode_responses=True)
reply = server.execute_command(*words)
print("\\n".join(reply) if isinstance(reply, list) else reply)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AclValkey]:
    with start_acl_valkey(tmp_path) as server:
        cli = tmp_path / "bin" / "valkey-cli"
        cli.write_text(CLI)
        cli.chmod(0o755)
        yield server


def password(server: AclValkey, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{server.folder / 'bin'}:{os.environ['PATH']}",
        "PASSWORD_FILE": str(server.folder / "errata"),
        "OPERATOR_PASSWORD_FILE": str(server.folder / "operator"),
    }
    command = [str(REDIS / "password.sh"), *words, "-p", str(server.port)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def opens(server: AclValkey, password: str) -> bool:
    with redis.Redis(host=HOST, port=server.port, username="errata", password=password) as client:
        try:
            return bool(client.echo("here"))
        except redis.AuthenticationError:
            return False


def test_both_open_until_only_the_new_one_does(server: AclValkey) -> None:
    assert password(server, "add").stdout == "the user errata has 1\n", "the file has no second password"
    (server.folder / "errata").write_text(NEW + "\n")
    assert password(server, "add").stdout == "the user errata has 2\n"
    assert opens(server, PASSWORD)
    assert opens(server, NEW)
    assert password(server, "only").stdout == "the user errata has 1\n"
    assert not opens(server, PASSWORD)
    assert opens(server, NEW)


@pytest.mark.parametrize(
    ("words", "content", "complaint"),
    [(["both"], NEW, "usage: "), (["add"], "too short", "is shorter than 16")],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    server: AclValkey, words: list[str], content: str, complaint: str
) -> None:
    (server.folder / "errata").write_text(content)
    refused = password(server, *words)
    assert (refused.returncode > 0, complaint in refused.stderr) == (True, True)
    assert opens(server, PASSWORD)
