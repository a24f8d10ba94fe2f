"""What the embedded Valkey keeps in its folder, and the little that can be asked of it without a client."""

from __future__ import annotations

import hashlib
import os
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

from service.errors import LedgerUnavailable
from service.ledger.private_folder import make_private

SOCKET_PATH_LIMIT = 100  # bytes; the kernel takes 107, and a longer path fails with a riddle
LAST_LINES = 3

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
        self.socket = self._socket_path()

    def _socket_path(self) -> Path:
        """In the folder; in a private one with a short name when the folder's own path is too long."""
        path = self.folder / "valkey.sock"
        if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT:
            return path
        name = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"errata-{os.getuid()}-{name}" / "valkey.sock"

    def make_folder(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)  # fails where the folder is somebody else's
            if self.socket.parent != self.folder:
                make_private(self.socket.parent)
        except OSError as error:
            advice = "give Errata a folder of its own"
            raise LedgerUnavailable(
                f"{self.folder} cannot be used for the ledger: {error}; {advice}"
            ) from error

    def write_config(self) -> None:
        places = {"dir": self.folder, "unixsocket": self.socket, "pidfile": self.pid_file}
        lines = [f"{name} {value}" for name, value in CONFIG.items()]
        lines += [f"{name} {_quoted(path)}" for name, path in places.items()]
        self.config.write_text("\n".join(lines) + "\n", encoding="utf-8")

    @property
    def recorded_pid(self) -> int | None:
        try:
            return int(self.pid_file.read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            return None

    def signal_server(self, signal_number: int) -> None:
        """Nothing happens to a process that is not this folder's server."""
        pid = self.recorded_pid
        if pid is not None and self._is_our_server(pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal_number)

    def _is_our_server(self, pid: int) -> bool:
        """Numbers are used again, so the command line is looked at where the system shows it (Linux)."""
        if not Path("/proc/self").exists():
            return True
        try:
            return os.fsencode(self.config) in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False

    def drop_traces(self) -> None:
        """What an ended server left: its number must not be believed while the next one starts."""
        self.socket.unlink(missing_ok=True)
        self.pid_file.unlink(missing_ok=True)

    def answers(self) -> bool:
        """True when it takes commands: it has read its append-only file."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
                channel.settimeout(1.0)
                channel.connect(str(self.socket))
                channel.sendall(b"PING\r\n")
                return channel.recv(64).startswith(b"+PONG")
        except OSError:
            return False

    @property
    def log_size(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0

    def last_words(self, offset: int) -> str:
        with self.log.open("rb") as log:
            log.seek(offset)
            lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
        return " / ".join(line for line in lines[-LAST_LINES:] if line) or f"see {self.log}"


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'
