"""The environment of the processes that Ray starts: one list for the launcher's own Ray and for an existing cluster.

Ray and uvicorn read it when they are imported, so it has to be set before Ray starts. The launcher does so. An
operator runs `eval "$(python -m service.launch.environment)"` before `ray start`; deploy/kuberay has it in its pods.
"""

from __future__ import annotations

import shlex
import sys

REPLICA_ENVIRONMENT = {
    "OMP_WAIT_POLICY": "PASSIVE",  # a waiting thread leaves its core to others: service/launch/README.md
    "TOKENIZERS_PARALLELISM": "false",
}
RAY_ENVIRONMENT = {
    "RAY_worker_niceness": "0",  # instead of 15, since a process that answers is no background job
    "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",
    "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": "service.http.middleware.ray_headers:build",
    "FORWARDED_ALLOW_IPS": "",  # trusted proxies are a setting of Errata; uvicorn trusts this machine by default
}
# for HTTP through Ray's proxies: with the throughput setting alone the ingress would listen itself
CLUSTER_ENVIRONMENT = {**RAY_ENVIRONMENT, **REPLICA_ENVIRONMENT, "RAY_SERVE_ENABLE_DIRECT_INGRESS": "0"}

if __name__ == "__main__":
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in CLUSTER_ENVIRONMENT.items()]
    sys.stdout.writelines(lines)
