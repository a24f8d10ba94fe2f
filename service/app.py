"""The whole Ray wiring: which deployments there are, how many of each, and who calls whom.

    HTTP --> ingress (*) --+--> <model> (n replicas each)    questions: one hop
                           +--> editor (1)                   edits, history

(*) One here; behind Ray's proxies as many as the deployment's file says.

Replicas and the editor meet in the ledger and nowhere else. No deployment reserves cores, so that everything fits on a
small machine; each replica limits its own threads. What computes on a GPU reserves a share of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from ray.serve import Application
from ray.serve.config import AutoscalingConfig

from service.config import Settings
from service.cores import count_cores
from service.editing.deployment import EditorDeployment
from service.http.ingress import IngressDeployment
from service.replicas.replica import ReplicaDeployment

ONE_TRY = 1  # at the start, where what is wrong is wrong again; once it has run, Ray restarts it for ever
HEALTH_CHECK_EVERY_S = 1.0  # Ray notices a death no sooner
STOP_S = 2.0  # for requests in flight when a replica is asked to end
MAX_CONNECTIONS = 4_096
BATCHES_AHEAD = 4  # the next batches are full when one is done, and who waits for a version blocks nobody
CALLS_PER_REPLICA = 2  # beyond which there should be more of them: one answering, one on its way
UPSCALE_DELAY_S, DOWNSCALE_DELAY_S = 5.0, 300.0  # a replica starts in seconds; a quiet minute is soon over
GPU_UNITS = 10_000  # of which Ray counts shares of a GPU
SEE_ALL_GPUS = {"env_vars": {"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1"}}


def build(settings: Settings, n_gpus: int = 0, tries: int = ONE_TRY) -> Application:
    """The application that Ray Serve runs.

    Here and nowhere else replicas and threads follow from the cores, those of this process: the editor on another
    machine waits for as many replicas as were started.

    Args:
        n_gpus: how many Ray counts; 0 also where they are not there yet.
        tries: how often a part may fail before it has run once; Ray takes no more than three for each replica.
    """
    settings = settings.share_cores(count_cores())
    common = {
        "health_check_period_s": HEALTH_CHECK_EVERY_S,
        "graceful_shutdown_timeout_s": STOP_S,
        "max_constructor_retry_count": tries,
    }
    if settings.max_replicas is None:
        scale: dict[str, Any] = {"num_replicas": settings.min_replicas}
    else:
        scale = {
            "autoscaling_config": AutoscalingConfig(
                min_replicas=settings.min_replicas,
                max_replicas=settings.max_replicas,
                target_ongoing_requests=CALLS_PER_REPLICA,
                upscale_delay_s=UPSCALE_DELAY_S,
                downscale_delay_s=DOWNSCALE_DELAY_S,
            )
        }
    models = {
        name: ReplicaDeployment.options(
            name=name,
            max_ongoing_requests=settings.max_batch * BATCHES_AHEAD,
            max_queued_requests=settings.max_queued,
            ray_actor_options=_reserve(settings, [name], n_gpus),
            **scale,
            **common,
        ).bind(settings, name)
        for name in settings.systems
    }
    editor = EditorDeployment.options(
        name="editor",
        num_replicas=1,  # the one writer
        max_ongoing_requests=settings.max_queued,
        max_queued_requests=settings.max_queued,
        ray_actor_options=_reserve(settings, list(settings.systems), n_gpus),
        **common,
    ).bind(settings)
    return IngressDeployment.options(
        name="ingress",
        max_ongoing_requests=MAX_CONNECTIONS,
        ray_actor_options={"num_cpus": 0},
        **common,
    ).bind(settings, models, editor)


def _reserve(settings: Settings, models: Sequence[str], n_gpus: int) -> dict[str, Any]:
    """What a process that loads these models asks of Ray.

    All processes that compute on a GPU, each replica at the most there may be and the editor, share the GPUs evenly.
    Ray shows a process the GPU that it gives it, as cuda:0; a process with a device by its number sees all of them.
    """
    devices = {name: settings.device_of(name) for name in settings.systems}
    on_gpu = [name for name, device in devices.items() if device != "cpu" and (device != "auto" or n_gpus)]
    if not set(models) & set(on_gpu):
        return {"num_cpus": 0}
    n_processes = len(on_gpu) * settings.replica_limit + 1
    share = GPU_UNITS // ceil(n_processes / max(1, n_gpus)) / GPU_UNITS
    by_number = any(":" in devices[name] for name in models)
    return {"num_cpus": 0, "num_gpus": share, **({"runtime_env": SEE_ALL_GPUS} if by_number else {})}
