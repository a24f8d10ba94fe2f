"""The service for `serve run` and `serve deploy`: on an existing Ray cluster, from a file in deploy/serve.

Ray calls `application` with the `args` of the file, which are settings by their names. Secrets are not among them:
they are in the environment of Ray's nodes, in ERRATA_REDIS_URL and ERRATA_ADMIN_KEY or in the files that ..._FILE
names. HTTP is Ray's own, on every machine that the file names, so the service does not choose its address and port.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import ray
from pydantic import ValidationError
from ray.serve import Application

from service.access.admin_key import check_key
from service.access.api_keys import fingerprint
from service.app import build
from service.config import Settings
from service.config_problems import explain
from service.config_secrets import add_upstream_keys, take_admin_key, take_redis_url

SET_ELSEWHERE = {
    "host": "http_options: host",
    "port": "http_options: port",
    "tls_cert": "a load balancer in front of Ray",
    "tls_key": "a load balancer in front of Ray",
    "max_connections_per_address": "a load balancer in front of Ray",
    "redis_url": "ERRATA_REDIS_URL in the environment of Ray's nodes",
    "admin_key_sha256": "ERRATA_ADMIN_KEY in the environment of Ray's nodes",
    "traces": "RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH=service.tracing:processors in the environment of Ray's nodes",
    "trace_sample_rate": "RAY_SERVE_TRACING_SAMPLING_RATIO in the environment of Ray's nodes",
    "log_format": "ERRATA_LOG_FORMAT in runtime_env: env_vars",
    "log_level": "ERRATA_LOG_LEVEL in runtime_env: env_vars",
    "upstream_keys": "ERRATA_UPSTREAM_KEY_NAME in the environment of Ray's nodes",
    "var": "nothing: the ledger is in Redis",
}
TRIES = 20  # attempts of a start, since a machine may be lost meanwhile
ALL_INTERFACES = "0.0.0.0"  # Ray's proxies may listen to other machines, so asking needs a key


def application(args: dict[str, Any]) -> Application:
    """Build the service; raise ValueError where a setting is wrong; `serve status` shows the text."""
    n_gpus = int(ray.cluster_resources().get("GPU", 0)) if ray.is_initialized() else 0
    return build(read_settings(args), n_gpus, TRIES)


def read_settings(args: dict[str, Any]) -> Settings:
    for name, place in SET_ELSEWHERE.items():
        if name in args:
            raise ValueError(f"{name!r} is no setting of a deployed service: set {place}")
    redis_url, key = take_redis_url(), take_admin_key()
    if redis_url is None or key is None:
        missing = "ERRATA_REDIS_URL" if redis_url is None else "ERRATA_ADMIN_KEY"
        raise ValueError(f"{missing} is not in the environment of Ray's nodes: set it, or {missing}_FILE")
    constants: dict[str, Any] = {
        "var": Path(tempfile.gettempdir()),  # nothing is stored there
        "host": ALL_INTERFACES,
        "redis_url": redis_url,
        "admin_key_sha256": fingerprint(check_key(key, "ERRATA_ADMIN_KEY")),
    }
    try:
        return add_upstream_keys(Settings(**args, **constants))
    except ValidationError as error:
        raise ValueError(explain(error)) from error
