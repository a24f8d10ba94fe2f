"""Prometheus accepts the configurations, and finds what it should scrape."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.prometheus import RULES, needs_prometheus

DEBIAN_LACKS = "kubernetes_sd_configs"  # Debian's build of Prometheus has no Kubernetes
RAY = {
    "__meta_kubernetes_pod_labelpresent_ray_io_cluster": "true",
    "__meta_kubernetes_pod_container_port_name": "metrics",
    "__meta_kubernetes_pod_phase": "Running",
}
PODS = {
    "worker": RAY,
    "port of another kind": {**RAY, "__meta_kubernetes_pod_container_port_name": "serve"},
    "another program": {**RAY, "__meta_kubernetes_pod_labelpresent_ray_io_cluster": ""},
    "ended": {**RAY, "__meta_kubernetes_pod_phase": "Succeeded"},
}


def promtool(*words: str | Path) -> str:
    process = subprocess.run(["promtool", *words], capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@needs_prometheus
@pytest.mark.parametrize("name", ["prometheus.yml", "cluster.yml"])
def test_the_configurations_are_valid(name: str) -> None:
    assert "2 rule files found" in promtool("check", "config", RULES / name)


@needs_prometheus
@pytest.mark.parametrize("name", ["recording.yml", "alerts.yml"])
def test_the_rules_are_valid(name: str) -> None:
    promtool("check", "rules", "--lint=all", "--lint-fatal", RULES / name)


@needs_prometheus
def test_of_the_pods_of_kubernetes_those_of_ray_are_scraped(tmp_path: Path) -> None:
    """kubernetes.yml is valid, except for parts that Debian's build lacks."""
    config: dict[str, Any] = yaml.safe_load((RULES / "kubernetes.yml").read_text())
    assert config.pop("rule_files") == ["recording.yml", "alerts.yml"]
    [job] = [job for job in config["scrape_configs"] if job["job_name"] == "ray"]
    assert job.pop(DEBIAN_LACKS) == [{"role": "pod", "namespaces": {"names": ["errata"]}}]
    job["static_configs"] = [_pod(number, name) for number, name in enumerate(PODS)]
    (tmp_path / "pods.yml").write_text(yaml.safe_dump(config))
    output = promtool("check", "service-discovery", "--timeout=2s", tmp_path / "pods.yml", "ray")
    targets = [target["labels"] for target in json.loads(output) if target.get("labels")]
    pods = [(pod["pod"], pod["namespace"], pod["__address__"]) for pod in targets]
    assert pods == [("worker", "qa", "10.0.0.0:8080")]


def _pod(number: int, name: str) -> dict[str, Any]:
    """Return a pod as Kubernetes would describe it."""
    labels = {"__meta_kubernetes_pod_name": name, "__meta_kubernetes_namespace": "qa"}
    return {"targets": [f"10.0.0.{number}:8080"], "labels": PODS[name] | labels}


@pytest.mark.parametrize("name", ["cluster.yml", "kubernetes.yml"])
def test_where_there_are_several_machines_the_service_is_asked_for_them(name: str) -> None:
    [job] = [
        job
        for job in yaml.safe_load((RULES / name).read_text())["scrape_configs"]
        if job["job_name"] == "errata"
    ]
    assert job["http_sd_configs"][0]["url"].endswith("/discovery/service")


@pytest.mark.parametrize(("name", "label"), [("cluster.yml", "cluster"), ("kubernetes.yml", "namespace")])
def test_where_there_may_be_several_services_their_figures_bear_a_label_that_tells_them_apart(
    name: str, label: str
) -> None:
    jobs = yaml.safe_load((RULES / name).read_text())["scrape_configs"]
    labels = [{rule.get("target_label") for rule in job["relabel_configs"]} for job in jobs]
    assert all(label in targets for targets in labels)
