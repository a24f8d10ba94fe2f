"""Stored data is damaged: the damage is noticed before any answer is made from it, and is reported."""

import json

import redis

from tests.chaos.questions import HISTORY
from tests.chaos.scene import Fault, Scene
from tests.cluster.running import kill

IMAGES, IMAGE, LOG, BLOCK = "{errata}:images", "{errata}:image:", "{errata}:log", "{errata}:block:"
NOTICED_S = 40.0


def _manifest(scene: Scene) -> None:
    """Cut a manifest in half; then follow the advice in the error's message."""
    with scene.life.redis() as vandal:
        version = int(vandal.zrange(IMAGES, -1, -1)[0])
        whole = bytes(vandal.get(f"{IMAGE}{version}") or b"")
        vandal.set(f"{IMAGE}{version}", whole[: len(whole) // 2])
        _start_another(scene, f"the manifest of version {version} cannot be used")
        vandal.zrem(IMAGES, version)


def _block(scene: Scene) -> None:
    """Replace rows by well-formed rows with another answer, so that only the digest differs. Then restore them."""
    version = scene.chance.randrange(1, HISTORY)
    with scene.life.redis() as vandal:
        name = _rows_of(vandal, version)
        whole = bytes(vandal.get(name) or b"")
        vandal.set(name, _forge(whole))
        try:
            _start_another(scene, "cannot be used: their bytes are not those that were written")
        finally:
            vandal.set(name, whole)


def _start_another(scene: Scene, words: str) -> None:
    """Kill a replica, so that its successor has to read the damaged data."""
    kill(scene.chance.choice(scene.life.replicas()))
    scene.expect(scene.hold(lambda: scene.life.log_says(words), NOTICED_S), f"a log says: {words}")
    scene.expect(scene.hold(lambda: _not_ready(scene), NOTICED_S), "/readyz tells that a replica is missing")


def _not_ready(scene: Scene) -> bool:
    with scene.http() as http:
        reply = http.get("/readyz")
        return reply.status_code == 503 or not reply.json()["converged"]


def _rows_of(vandal: redis.Redis, version: int) -> str:
    """Return the key of the rows that the commit wrote."""
    [(_, fields)] = vandal.xrange(LOG, f"{version}-0", f"{version}-0")
    [write] = json.loads(fields[b"commit"])["writes"].values()
    _, _, digest = write["puts"][0]
    return f"{BLOCK}{digest.removeprefix('sha256:')}"


def _forge(whole: bytes) -> bytes:
    """Return damaged bytes of the same length: another answer, or one flipped bit if no answer can be read."""
    forgery = whole.replace(b"right", b"wrong")
    return forgery if forgery != whole else whole[:-1] + bytes([whole[-1] ^ 1])


MANIFEST = Fault("manifest", "half a manifest in Redis, then kill -9 of a replica", _manifest)
ROWS = Fault("rows", "forged rows in Redis, then kill -9 of a replica", _block)
