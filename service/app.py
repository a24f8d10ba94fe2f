"""The Ray wiring: the deployments, the number of replicas of each, and their calls.

    HTTP --> ingress (*) --+--> <model> (n replicas each)    questions: one hop
                           +--> editor (1)                   edits, history

(*) The launcher starts one; behind Ray's proxies there are as many as the deployment's file says.
Replicas and the editor meet only in the ledger. No deployment reserves cores, so that everything fits on a small
machine; each replica limits its own threads. A deployment that computes on a GPU reserves a share of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from ray import serve
from ray.serve import Application
from ray.serve.config import AutoscalingConfig

from service.config import Settings
from service.cores import count_cores
from service.http.ingress import IngressDeployment
from service.http.protocol import MAX_CONNECTIONS

ONE_TRY = 1  # starts of a part that has never run, since it would fail again; Ray restarts one that has run
HEALTH_CHECK_EVERY_S = 1.0  # the longest time until Ray notices a death
STOP_S = 2.0  # time for requests in flight when a replica is asked to end
BATCHES_PER_REPLICA = 4  # batches in a replica, so that full ones wait, and a wait for a version blocks none
CALLS_PER_REPLICA = 2  # calls under way above which a model gets another replica
UPSCALE_DELAY_S, DOWNSCALE_DELAY_S = 5.0, 300.0  # a replica starts in seconds; a quiet minute is soon over
DRAIN_POLL_S = 0.2  # interval at which Ray checks whether a replica has ended; its default equals the limit
GPU_UNITS = 10_000  # smallest shares of a GPU that Ray counts
# Classes by their places, so that the process that builds the application does not import torch
ReplicaDeployment = serve.deployment(name="replica", graceful_shutdown_wait_loop_s=DRAIN_POLL_S)(
    "service.replicas.replica.Replica"
)
EditorDeployment = serve.deployment(name="editor")("service.editing.editor.Editor")
SEE_ALL_GPUS = {"env_vars": {"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1"}}


def build(settings: Settings, n_gpus: int = 0, tries: int = ONE_TRY) -> Application:
    """Build the application that Ray Serve runs.

    Only here the numbers of replicas and threads follow from the cores of this process, so that an editor on another
    machine waits for as many replicas as were started.

    Args:
        n_gpus: Number of GPUs that Ray counts; 0 also where they have not joined yet.
        tries: How often a part may fail before it has run once; Ray allows at most three for each replica.
    """
    settings = settings.share_cores(count_cores())
    common = {
        "health_check_period_s": HEALTH_CHECK_EVERY_S,
        "graceful_shutdown_timeout_s": STOP_S,
        "max_constructor_retry_count": tries,
    }
    models = {
        name: ReplicaDeployment.options(
            name=name,
            max_ongoing_requests=settings.max_batch * BATCHES_PER_REPLICA,
            max_queued_requests=settings.max_queued,
            ray_actor_options=_reserve(settings, [name], n_gpus),
            **_scale(settings),
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
        name="ingress", max_ongoing_requests=MAX_CONNECTIONS, ray_actor_options={"num_cpus": 0}, **common
    ).bind(settings, models, editor)


def _scale(settings: Settings) -> dict[str, Any]:
    if settings.max_replicas is None:
        return {"num_replicas": settings.min_replicas}
    return {
        "autoscaling_config": AutoscalingConfig(
            min_replicas=settings.min_replicas,
            max_replicas=settings.max_replicas,
            target_ongoing_requests=CALLS_PER_REPLICA,
            upscale_delay_s=UPSCALE_DELAY_S,
            downscale_delay_s=DOWNSCALE_DELAY_S,
        )
    }


def _reserve(settings: Settings, models: Sequence[str], n_gpus: int) -> dict[str, Any]:
    """Return the options with which a process that loads these models reserves a share of a GPU.

    All processes that compute on a GPU, the largest number of replicas and the editor, share the GPUs evenly. Ray
    shows a process only its GPU, as cuda:0; a process with a device by its number sees all of them.
    """
    devices = {name: settings.device_of(name) for name in settings.systems}
    on_gpu = [name for name, device in devices.items() if device != "cpu" and (device != "auto" or n_gpus)]
    if not set(models) & set(on_gpu):
        return {"num_cpus": 0}
    n_processes = len(on_gpu) * settings.replica_limit + 1
    share = GPU_UNITS // ceil(n_processes / max(1, n_gpus)) / GPU_UNITS
    by_number = any(":" in devices[name] for name in models)
    return {"num_cpus": 0, "num_gpus": share, **({"runtime_env": SEE_ALL_GPUS} if by_number else {})}
