"""The embedded Valkey: after any kill, the next start finds every acknowledged write and one server only."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from service.errors import LedgerUnavailable
from service.ledger.embedded import server as server_module
from service.ledger.embedded.files import ValkeyFiles
from service.ledger.embedded.folder_lock import FolderLock
from service.ledger.embedded.server import EmbeddedValkey
from tests.service.ledger.writing import frozen, kill, pid_of, running

ERRATA = """
import sys, time, pathlib
from service.ledger.embedded.server import EmbeddedValkey
server = EmbeddedValkey(pathlib.Path(sys.argv[1])).start()
print(server.pid, flush=True)
time.sleep(60)
"""


@contextmanager
def errata(folder: Path) -> Iterator[tuple[int, int]]:
    """Start another Errata process on the folder, with its Valkey; return both process ids."""
    with subprocess.Popen([sys.executable, "-c", ERRATA, folder], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        yield other.pid, int(other.stdout.readline())
        other.kill()


def client(server: EmbeddedValkey) -> redis.Redis:
    return redis.Redis.from_url(server.url)


def test_it_answers_on_a_private_socket_and_on_no_port(own_valkey: EmbeddedValkey) -> None:
    with client(own_valkey) as redis_client:
        assert redis_client.config_get("port") == {"port": "0"}
    folder = Path(own_valkey.url.removeprefix("unix://")).parent
    assert [oct(path.stat().st_mode & 0o777) for path in (folder, folder / "valkey.sock")] == ["0o700"] * 2


def test_a_folder_whose_name_is_a_pattern_has_its_own_server(tmp_path: Path) -> None:
    """Valkey takes the name of its configuration for a pattern, and without a match it opens its usual port."""
    folder = tmp_path / 'of [1] "Ana" *?'
    with errata(folder) as (owner, pid):
        kill(owner)
        with EmbeddedValkey(folder) as server, client(server) as redis_client:
            assert redis_client.config_get("port") == {"port": "0"}
            assert not running(pid), "the orphan is found by its command line"


def test_what_was_written_is_there_after_a_stop_and_a_start(tmp_path: Path) -> None:
    for expected in (None, b"1"):
        with EmbeddedValkey(tmp_path) as server, client(server) as redis_client:
            assert redis_client.get("k") == expected
            redis_client.set("k", "1")
            pid = pid_of(server)
        assert not running(pid)
        assert not (tmp_path / "valkey.sock").exists()


def test_a_killed_server_is_revived_with_everything_it_had_acknowledged(own_valkey: EmbeddedValkey) -> None:
    with client(own_valkey) as redis_client:
        redis_client.set("k", "1")
        kill(pid_of(own_valkey))
        assert not own_valkey.alive
        assert own_valkey.revive()
        assert redis_client.get("k") == b"1"
    assert not own_valkey.revive(), "one that lives is left alone"


def test_a_server_killed_while_its_child_rewrites_the_file_is_revived_whole(
    own_valkey: EmbeddedValkey,
) -> None:
    with client(own_valkey) as redis_client:
        redis_client.mset({f"k{number}": number for number in range(5000)})
        redis_client.config_set("rdb-key-save-delay", 2000)  # microseconds a key: ten seconds of rewriting
        redis_client.bgrewriteaof()
        redis_client.set("last", "1")
        kill(pid_of(own_valkey))
        assert own_valkey.revive()
        assert (redis_client.dbsize(), redis_client.get("last")) == (5001, b"1")


def test_a_server_that_reads_a_long_log_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "START_LIMIT_S", 0.5)
    ping, start = ValkeyFiles.ping, time.monotonic()

    def load(files: ValkeyFiles) -> bytes:
        """Reply as a server does that reads its log for twice the limit."""
        is_loading = time.monotonic() < start + 1.0
        return b"-LOADING Valkey is loading the dataset in memory\r\n" if is_loading else ping(files)

    monkeypatch.setattr(ValkeyFiles, "ping", load)
    with EmbeddedValkey(tmp_path / "valkey") as server, client(server) as redis_client:
        assert time.monotonic() >= start + 1.0
        assert redis_client.ping()


def test_a_start_that_failed_can_be_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = EmbeddedValkey(tmp_path).start()
    kill(pid_of(server))
    with monkeypatch.context() as broken:
        broken.setattr(server_module, "get_binary_path", lambda: tmp_path / "missing")
        for _ in range(2):
            with pytest.raises(LedgerUnavailable, match=r"cannot be started: .*missing"):
                server.revive()
    assert server.revive()
    server.stop()


def test_a_server_that_was_stopped_is_not_revived(own_valkey: EmbeddedValkey) -> None:
    own_valkey.stop()
    assert not own_valkey.revive()
    own_valkey.stop()


def test_a_second_errata_on_the_folder_is_refused_and_disturbs_nothing(own_valkey: EmbeddedValkey) -> None:
    second = EmbeddedValkey(Path(own_valkey.url.removeprefix("unix://")).parent)
    with pytest.raises(LedgerUnavailable, match=rf"in use by another Errata \(process {os.getpid()}\)"):
        second.start()
    second.stop()
    with client(own_valkey) as redis_client:
        assert redis_client.ping()


def test_a_folder_is_free_again_for_others_after_a_stop(tmp_path: Path) -> None:
    first, second = EmbeddedValkey(tmp_path), EmbeddedValkey(tmp_path)
    for server in (first, second, first):
        server.start()
        server.stop()


def test_two_folders_are_two_servers(tmp_path: Path) -> None:
    with (
        EmbeddedValkey(tmp_path / "a") as a,
        EmbeddedValkey(tmp_path / "b") as b,
        client(a) as to_a,
        client(b) as to_b,
    ):
        to_a.set("k", "1")
        assert to_b.get("k") is None


def test_an_errata_that_runs_elsewhere_keeps_its_folder(tmp_path: Path) -> None:
    with errata(tmp_path) as (owner, server):
        with pytest.raises(LedgerUnavailable, match=rf"process {owner}\): stop it"):
            EmbeddedValkey(tmp_path).start()
        assert running(server)
        kill(owner)
        EmbeddedValkey(tmp_path).start().stop()


def test_an_orphan_of_a_killed_errata_is_ended_before_the_next_server_starts(tmp_path: Path) -> None:
    with errata(tmp_path) as (owner, orphan):
        with redis.Redis(unix_socket_path=str(tmp_path / "valkey.sock")) as redis_client:
            redis_client.set("k", "1")
        kill(owner)
        assert running(orphan)
        with EmbeddedValkey(tmp_path) as server, client(server) as redis_client:
            assert not running(orphan)
            assert redis_client.get("k") == b"1"


def test_an_orphan_that_does_not_listen_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "STOP_LIMIT_S", 0.5)
    with errata(tmp_path) as (owner, orphan):
        kill(owner)
        with frozen(orphan), EmbeddedValkey(tmp_path) as server:
            assert not running(orphan)
            assert running(pid_of(server))


def test_a_process_that_happens_to_have_the_orphans_number_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "STOP_LIMIT_S", 0.2)
    lock = FolderLock(tmp_path / "server.lock")
    assert lock.take()
    with subprocess.Popen(["sleep", "30"]) as bystander:
        (tmp_path / "valkey.pid").write_text(str(bystander.pid))
        with pytest.raises(LedgerUnavailable, match=f"stop process {bystander.pid} yourself"):
            EmbeddedValkey(tmp_path).start()
        assert bystander.poll() is None
        assert (tmp_path / "valkey.pid").exists(), "of a server that may still live"
        bystander.kill()
    lock.release()
    EmbeddedValkey(tmp_path).start().stop()


def test_a_start_that_cannot_end_an_orphan_leaves_it_its_socket_and_pid_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without them the server that holds the folder could not be found again."""
    monkeypatch.setattr(server_module, "STOP_LIMIT_S", 0.2)
    with errata(tmp_path) as (owner, orphan):
        kill(owner)
        with monkeypatch.context() as immortal:
            immortal.setattr(ValkeyFiles, "signal_server", lambda *_: None)
            with pytest.raises(LedgerUnavailable, match=f"stop process {orphan} yourself"):
                EmbeddedValkey(tmp_path).start()
        assert (tmp_path / "valkey.pid").read_text().strip() == str(orphan)
        with redis.Redis(unix_socket_path=str(tmp_path / "valkey.sock")) as redis_client:
            assert redis_client.ping()
        with EmbeddedValkey(tmp_path) as server:
            assert not running(orphan), "found again, it is ended"
            assert server.alive


def test_a_frozen_server_is_stopped_in_bounded_time(
    own_valkey: EmbeddedValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "STOP_LIMIT_S", 0.5)
    pid, start = pid_of(own_valkey), time.monotonic()
    os.kill(pid, signal.SIGSTOP)
    own_valkey.stop()
    assert not running(pid)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("name", ['a b "c" \\d', "100%41?#x", "é" * 20, "long" * 40])
def test_any_name_of_a_folder_will_do(tmp_path: Path, name: str) -> None:
    for expected in (None, b"1"):
        with EmbeddedValkey(tmp_path / name) as server, client(server) as redis_client:
            assert redis_client.get("k") == expected
            redis_client.set("k", "1")
    assert (tmp_path / name / "appendonlydir").is_dir()


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        LedgerUnavailable, match=r"file/valkey cannot be used for the ledger.*folder that nothing else uses"
    ):
        EmbeddedValkey(tmp_path / "file" / "valkey").start()


def test_the_short_folder_of_the_socket_is_no_link_to_another(tmp_path: Path) -> None:
    """Its name can be predicted by others."""
    deep, precious = tmp_path / ("x" * 120), tmp_path / "precious"
    precious.mkdir(mode=0o755)
    trap = ValkeyFiles(deep).socket.parent
    trap.symlink_to(precious)
    try:
        with pytest.raises(LedgerUnavailable, match=f"{trap} has to be a folder of this user"):
            EmbeddedValkey(deep).start()
    finally:
        trap.unlink()
    assert not any(precious.iterdir())


def test_damage_in_the_append_only_file_is_told_in_the_servers_words(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path) as server, client(server) as redis_client:
        for number in range(50):
            redis_client.set(f"k{number}", "v" * 50)
    [log] = (tmp_path / "appendonlydir").glob("*.incr.aof")
    data = bytearray(log.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 40] = b"\0" * 40
    log.write_bytes(data)
    server = EmbeddedValkey(tmp_path)
    with pytest.raises(LedgerUnavailable, match=r"ended at once: .*Bad file format.*Restore a backup"):
        server.start()
    assert not server.alive
    assert FolderLock(tmp_path / "errata.lock").take(), "the folder is not left locked"


@pytest.mark.parametrize("half_command", [b"", b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9\r\nhalf"])
def test_zeros_that_a_crash_left_are_cut_off_by_a_flag(tmp_path: Path, half_command: bytes) -> None:
    with EmbeddedValkey(tmp_path) as server, client(server) as redis_client:
        redis_client.set("k", "acknowledged\0\0")
    [log] = (tmp_path / "appendonlydir").glob("*.incr.aof")
    whole = log.read_bytes()
    log.write_bytes(whole + half_command + bytes(1_100_000))
    with pytest.raises(LedgerUnavailable, match=r"incr.aof ends in 1,100,000 zero bytes.* with --repair-log"):
        EmbeddedValkey(tmp_path).start()
    for repair_log in (True, False):
        with EmbeddedValkey(tmp_path, repair_log) as server, client(server) as redis_client:
            assert redis_client.get("k") == b"acknowledged\0\0"
            assert log.read_bytes().startswith(whole)


def test_a_half_written_last_command_was_never_acknowledged_and_is_dropped(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path) as server, client(server) as redis_client:
        redis_client.set("k", "1")
    [log] = (tmp_path / "appendonlydir").glob("*.incr.aof")
    with log.open("ab") as tail:
        tail.write(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nha")
    with EmbeddedValkey(tmp_path) as server, client(server) as redis_client:
        assert redis_client.get("k") == b"1"


def test_ctrl_c_in_the_terminal_does_not_reach_the_server(own_valkey: EmbeddedValkey) -> None:
    assert os.getsid(pid_of(own_valkey)) != os.getsid(0)
