"""The deployment that HTTP reaches first. It builds the FastAPI app itself, so nothing has to be pickled."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from fastapi import FastAPI
from ray import serve
from ray.serve.handle import DeploymentHandle

from service.calls.caller import Caller, LocalSocketHandle
from service.calls.frames import FOLDER_VARIABLE
from service.config import Settings
from service.editing.call import ATTEMPTS
from service.http.app import build_app
from service.http.deployment_client import EditorClient, ModelClient
from service.http.middleware import ray_headers
from service.http.model_router import ModelRouter
from service.http.protocol import set_limits
from service.http.routes import discovery
from service.metrics import metrics
from service.process_memory import freeze_gc
from service.scheduling.work import load_cost


class Ingress:
    """The ingress; `models` has a handle for each model name."""

    def __init__(
        self, settings: Settings, models: dict[str, DeploymentHandle], editor: DeploymentHandle
    ) -> None:
        metrics.count_start("ingress")
        metrics.begin_at_zero(metrics.RATE_LIMITED, ("key", "address"), ("rate", "concurrent"))
        self._settings = settings
        folder = os.environ.get(FOLDER_VARIABLE)
        clients = {
            name: ModelClient(
                LocalSocketHandle(handle, Caller(Path(folder), name)) if folder else handle,
                f"the model {name!r}",
                ATTEMPTS,
            )
            for name, handle in models.items()
        }
        max_running = (
            2 * settings.replica_limit
        )  # two batches for each replica: one is answered, one is on its way
        self._models = ModelRouter(
            clients,
            settings.max_batch,
            max_running,
            settings.max_queued,
            {name: load_cost(loader) for name, loader in settings.systems.items()},
        )
        self._editor = EditorClient(editor)

    def __serve_build_asgi_app__(self) -> FastAPI:
        metrics.PROXY_BOUNDS.labels("ingress").set(ray_headers.check())
        settings = self._settings
        set_limits(settings.max_connections_per_address, settings.proxies, settings.memory_mb)
        app = build_app(settings, self._models, self._editor)
        scheme = "https" if settings.tls_cert else "http"
        app.include_router(discovery.build_discovery_router(settings.metrics_port, scheme))
        app.router.on_shutdown.append(partial(metrics.count_end, "ingress"))
        freeze_gc()
        metrics.set_ready("ingress", settings.metrics_port)
        return app


IngressDeployment = serve.deployment(serve.ingress()(Ingress))
