"""The whole Ray wiring: which deployments there are, how many of each, and who calls whom.

    HTTP --> ingress (*) --+--> <model> (n replicas each)    questions: one hop
                           +--> editor (1)                   edits, history

(*) One here; behind Ray's proxies as many as the deployment's file says.

Replicas and the editor meet in the ledger and nowhere else. No deployment reserves cores, so that everything
fits on a small machine; each replica limits its own threads.
"""

from __future__ import annotations

from typing import Any

from ray.serve import Application
from ray.serve.config import AutoscalingConfig

from service.config import Settings
from service.editing.editor import EditorDeployment
from service.http.ingress import IngressDeployment
from service.replicas.replica import ReplicaDeployment

NO_CORES = {"num_cpus": 0}
ONE_TRY = 1  # at the start, where what is wrong is wrong again; once it has run, Ray restarts it for ever
LOOK_EVERY_S = 1.0  # whether a replica lives; Ray notices a death no sooner
STOP_S = 2.0  # for requests in flight when a replica is asked to end
MOST_CONNECTIONS = 4_096
BATCHES_AHEAD = 4  # the next batches are full when one is done, and who waits for a version blocks nobody
CALLS_AT_ONCE = 2  # at each replica, beyond which there should be more of them: one answering, one on its way
MORE_AFTER_S, FEWER_AFTER_S = 5.0, 300.0  # a replica takes seconds to start, and a quiet minute is soon over


def build(settings: Settings, tries: int = ONE_TRY) -> Application:
    """tries: how often a part may fail before it has run once; Ray takes no more than three for each replica."""
    models = {
        name: ReplicaDeployment.options(
            name=name,
            **_how_many(settings),
            max_ongoing_requests=settings.max_batch * BATCHES_AHEAD,
            max_queued_requests=settings.max_queued,
            health_check_period_s=LOOK_EVERY_S,
            graceful_shutdown_timeout_s=STOP_S,
            ray_actor_options=NO_CORES,
            max_constructor_retry_count=tries,
        ).bind(settings, name)
        for name in settings.systems
    }
    editor = EditorDeployment.options(
        name="editor",
        num_replicas=1,  # the one writer
        max_ongoing_requests=settings.max_queued,
        max_queued_requests=settings.max_queued,
        health_check_period_s=LOOK_EVERY_S,
        graceful_shutdown_timeout_s=STOP_S,
        ray_actor_options=NO_CORES,
        max_constructor_retry_count=tries,
    ).bind(settings)
    return IngressDeployment.options(
        name="ingress",
        max_ongoing_requests=MOST_CONNECTIONS,
        health_check_period_s=LOOK_EVERY_S,
        graceful_shutdown_timeout_s=STOP_S,
        ray_actor_options=NO_CORES,
        max_constructor_retry_count=tries,
    ).bind(settings, models, editor)


def _how_many(settings: Settings) -> dict[str, Any]:
    if settings.max_replicas is None:
        return {"num_replicas": settings.replica_count}
    return {
        "autoscaling_config": AutoscalingConfig(
            min_replicas=settings.replica_count,
            max_replicas=settings.max_replicas,
            target_ongoing_requests=CALLS_AT_ONCE,
            upscale_delay_s=MORE_AFTER_S,
            downscale_delay_s=FEWER_AFTER_S,
        )
    }
