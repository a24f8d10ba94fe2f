"""kill -9 of each part, and of everything."""

from collections.abc import Callable

from tests.chaos.scene import Fault, Scene
from tests.cluster.running import alive, kill, wait_until

AWAY_S = 20.0  # within which an answer comes from the other system, for which the first is waited for


def _kill(scene: Scene, *pids: int) -> None:
    for pid in pids:
        kill(pid)
    wait_until(lambda: not any(alive(pid) for pid in pids), 10, "the killed to be gone")


def _one_replica(scene: Scene) -> None:
    _kill(scene, scene.chance.choice(scene.life.replicas()))


def _all_replicas(scene: Scene) -> None:
    before = len(scene.recorder.answers)
    _kill(scene, *scene.life.replicas())
    if scene.life.model == "auto":
        is_named = scene.hold(
            lambda: any("nkb" in answer.away for answer in scene.recorder.answers[before:]), AWAY_S
        )
        scene.expect(is_named, "answers name the system that is away")


def _part(title: str) -> Callable[[Scene], None]:
    return lambda scene: _kill(scene, scene.life.part(title))


def _kill_all(scene: Scene) -> None:
    scene.life.service.kill_everything()
    scene.life.service.start()


REPLICA = Fault("replica", "kill -9 of one of two replicas", _one_replica)
REPLICAS = Fault("replicas", "kill -9 of all replicas of the toy", _all_replicas, silences=True)
INGRESS = Fault(
    "ingress", "kill -9 of the ingress", _part("ServeReplica:errata:ingress"), cuts=True, silences=True
)
PROXY = Fault("proxy", "kill -9 of Ray's proxy, through which nothing goes here", _part("ProxyActor"))
EDITOR = Fault("editor", "kill -9 of the editor", _part("ServeReplica:errata:editor"))
CONTROLLER = Fault("controller", "kill -9 of Ray Serve's controller", _part("ServeController"))
VALKEY = Fault("valkey", "kill -9 of Valkey", _part("valkey-server"))
ALL_PROCESSES = Fault(
    "everything",
    "kill -9 of every process, and a start from the disk",
    _kill_all,
    cuts=True,
    silences=True,
)
