"""The files of the embedded Valkey in its folder, and the state of the server that they show."""

from __future__ import annotations

import glob
import hashlib
import logging
import os
import signal
import socket
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from service.errors import LedgerUnavailable

SOCKET_PATH_LIMIT = 100  # bytes; the kernel takes 107, and its error for a longer path does not say so
PIECE_BYTES = 1_000_000  # bytes of the data that are read at once
DAMAGE = "Bad file format"  # words of the server about damaged data; it goes on with advice that loses edits
LAST_LINES = 3  # lines of the server's log in an error message

log = logging.getLogger(__name__)

CONFIG = {
    "port": "0",
    "unixsocketperm": "700",
    "daemonize": "no",
    "set-proc-title": "no",
    "save": '""',
    "appendonly": "yes",
    "appendfsync": "always",
    "maxmemory-policy": "noeviction",
    "loglevel": "notice",
}


class ValkeyFiles:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "valkey.conf"
        self.log = folder / "valkey.log"
        self.pid_file = folder / "valkey.pid"
        self.socket = folder / "valkey.sock"
        if len(os.fsencode(self.socket)) > SOCKET_PATH_LIMIT:  # a private folder with a short name instead
            digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
            name = f"errata-{os.getuid()}-{digest}/valkey.sock"
            self.socket = temporary_folder(name) / name

    @property
    def config_pattern(self) -> str:
        """Return the path of the configuration for Valkey, which reads it as a pattern, and starts without a match."""
        return glob.escape(str(self.config))

    def create_folder(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)  # fails where the folder is another user's
            if self.socket.parent != self.folder:
                create_private_folder(self.socket.parent)
        except OSError as error:
            raise LedgerUnavailable(
                f"{self.folder} cannot be used for the ledger: {error}; give Errata a folder that nothing else uses"
            ) from error

    def write_config(self) -> None:
        lines = [f"{name} {value}" for name, value in CONFIG.items()]
        for name, path in (("dir", self.folder), ("unixsocket", self.socket), ("pidfile", self.pid_file)):
            text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            lines.append(f'{name} "{text}"')
        self.config.write_text("\n".join(lines) + "\n", encoding="utf-8")

    @property
    def pid(self) -> int | None:
        """Process id of the server that wrote the pid file last; it may have ended."""
        try:
            return int(self.pid_file.read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            return None

    def signal_server(self, signal_number: signal.Signals) -> None:
        """Send a signal to this folder's server, and to no other process.

        Process ids are used again, so the command line is compared where the system shows it (Linux).
        """
        pid = self.pid
        if pid is None:
            return
        if Path("/proc/self").exists():
            try:
                if os.fsencode(self.config_pattern) not in Path(f"/proc/{pid}/cmdline").read_bytes():
                    return
            except OSError:
                return
        with suppress(ProcessLookupError):
            os.kill(pid, signal_number)

    def remove_stale(self) -> None:
        """Delete the socket and the pid file of a server that has ended, before the next one starts."""
        self.socket.unlink(missing_ok=True)
        self.pid_file.unlink(missing_ok=True)

    def ping(self) -> bytes:
        """Return the server's reply to a PING: +PONG, -LOADING while it reads its data, or nothing."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
                channel.settimeout(1.0)
                channel.connect(str(self.socket))
                channel.sendall(b"PING\r\n")
                return channel.recv(64)
        except OSError:
            return b""

    def find_padding(self) -> tuple[Path, int, int] | None:
        """Return the newest part of the data, its bytes before the zeros at its end, and their number, if any."""
        parts = (self.folder / "appendonlydir").glob("*.incr.aof")
        newest = max(parts, key=lambda part: int(part.name.split(".")[-3]), default=None)
        if newest is None:
            return None
        with newest.open("rb") as file:
            end = size = file.seek(0, os.SEEK_END)
            while end:
                start = max(0, end - PIECE_BYTES)
                file.seek(start)
                if data := file.read(end - start).rstrip(b"\0"):
                    end = start + len(data)
                    break
                end = start
        return (newest, end, size - end) if end < size else None

    def cut_padding(self) -> None:
        """Cut off the zeros at the end of the data. A whole command ends in a line break, so it stays."""
        if padding := self.find_padding():
            path, n_bytes, n_zeros = padding
            os.truncate(path, n_bytes)
            log.warning("%d zero bytes were cut off the end of %s", n_zeros, path)

    def explain_end(self, log_offset: int) -> str:
        """Return why the server ended: zeros at the end of its data, or the words of its log after an offset."""
        if padding := self.find_padding():
            return (
                f"{padding[0]} ends in {padding[2]:,} zero bytes, as a crash of the machine may leave: "
                "start once with --repair-log, which cuts them off: no acknowledged edit is in them"
            )
        words = self.last_log_lines(log_offset)
        if DAMAGE in words:
            return f"{words} / That cuts off edits after the damage. Restore a backup into an empty folder instead"
        return words

    def last_log_lines(self, offset: int) -> str:
        with self.log.open("rb") as log:
            log.seek(offset)
            lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
        return " / ".join(line for line in lines[-LAST_LINES:] if line) or f"see {self.log}"


def temporary_folder(path: str) -> Path:
    """Return the system's temporary folder, or /tmp if a socket at this path in it would have too long a name."""
    folder = Path(tempfile.gettempdir())
    return folder if len(os.fsencode(folder / path)) <= SOCKET_PATH_LIMIT else Path("/tmp")


def create_private_folder(folder: Path) -> None:
    """Create a folder that only this user reads, in a place where others could have created it first.

    Raises:
        OSError: It is a link, or another user's.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise PermissionError(
            f"{folder} has to be a folder of this user, and is a link, a file or another user's"
        )
    folder.chmod(0o700)
