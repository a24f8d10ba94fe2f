"""A service that is to be harmed: started as a person starts it, on a disk and a Valkey that can be harmed."""

import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import redis

from tests.cluster.running import Service, wait_until

DISK_BYTES = 256_000_000
REPLICAS = 2
START_LIMIT_S = 300.0
WIDE = ("--host", "0.0.0.0", "--rate-per-key", "1000000/minute", "--max-concurrent", "500")
KBERT = ("--system", "kbert=models.kbert.system:load")
ATLAS = ("--system", "atlas=tests.service.toy_graph:load_atlas")


class HarmedService(Service):
    """environment: for the next start."""

    environment: Mapping[str, str] = {}

    def launch(self, **environment: str) -> subprocess.Popen[str]:
        return super().launch(**{**self.environment, **environment})

    def start(self) -> Service:
        """Start the service with more patience than a test has, because a shared machine may be slow for minutes."""
        process = self.launch()
        wait_until(
            lambda: "Ctrl-C stops" in self.read_output() or process.poll() is not None,
            START_LIMIT_S,
            "the start",
        )
        assert process.poll() is None, f"it ended: {self.read_output()}"
        return self


class Life:
    """small_disk: whether the var folder is a disk of its own that can be filled, which takes a mount.

    wide: reachable from outside, with keys and limits, and `kbert` beside the toy in place of the atlas.
    second: the system beside the toy. model: that clients ask; what `kbert` answers cannot be worked out.
    """

    def __init__(self, folder: Path, wide: bool = False) -> None:
        self.folder, self.wide = folder, wide
        words = [*WIDE, *KBERT] if wide else ATLAS
        self.second, self.model = ("kbert", "nkb") if wide else ("atlas", "auto")
        self.service = HarmedService(folder / "var", replicas=REPLICAS, words=words)
        self.small_disk = _mount(self.service.var)

    @property
    def ledger(self) -> Path:
        return self.service.var / "valkey"

    @property
    def socket(self) -> Path:
        return self.ledger / "valkey.sock"

    def redis(self, socket: Path | None = None) -> redis.Redis:
        """A client of the server for damage."""
        return redis.Redis(unix_socket_path=str(socket or self.socket), socket_timeout=2)

    def answers(self) -> bool:
        with suppress(redis.RedisError), self.redis() as client:
            return bool(client.ping())
        return False

    def redis_connections(self) -> int:
        """Ours is not among them."""
        with self.redis() as client:
            return int(client.info("clients")["connected_clients"]) - 1

    def replicas(self) -> list[int]:
        return self.service.pids_of("ServeReplica:errata:nkb")

    def part(self, title: str) -> int:
        """Return the one process with this title. It may be about to be restarted."""
        wait_until(lambda: len(self.service.pids_of(title)) == 1, START_LIMIT_S, f"one process of {title}")
        return self.service.pids_of(title)[0]

    def log_says(self, words: str) -> bool:
        """Return whether any log of the service has the words."""
        logs = self.service.var / "log"
        return any(words in path.read_text(errors="replace") for path in logs.rglob("*") if path.is_file())

    def end(self) -> None:
        self.service.kill_everything()
        if self.small_disk:
            unmount(self.service.var)


def _mount(folder: Path) -> bool:
    """Mount a small disk at `folder`, which needs the right to mount."""
    folder.mkdir(parents=True, exist_ok=True)
    size = f"size={DISK_BYTES},mode=700"
    words = ["mount", "-t", "tmpfs", "-o", size, "errata-chaos", str(folder)]
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def unmount(folder: Path) -> None:
    for _ in range(20):
        if subprocess.run(["umount", str(folder)], capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.5)
    raise OSError(f"{folder} is still mounted: unmount it with `umount {folder}`")
