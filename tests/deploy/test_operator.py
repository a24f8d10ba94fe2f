"""With the Prometheus Operator the same pages are read and the same rules hold, in each overlay that asks for it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.prometheus.__main__ import FILE, build
from tests.deploy.test_kubernetes import KUBERAY, OVERLAYS
from tests.deploy.test_prometheus import ALERTS, RECORDING_RULES

# Fields of the Operator's monitoring.coreos.com/v1 that are used
ENDPOINT = {"port", "interval", "metricRelabelings"}

Thing = dict[str, Any]


@pytest.fixture(scope="module", params=OVERLAYS)
def things(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Thing]:
    """Return an overlay with the component, as an operator would write it."""
    folder = tmp_path_factory.mktemp(request.param)
    places = {place: os.path.relpath(KUBERAY / place, folder) for place in (request.param, "monitoring")}
    text = {"resources": [places[request.param]], "components": [places["monitoring"]]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(text))
    words = [str(Path(sys.executable).with_name("kubectl")), "kustomize", str(folder)]
    process = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert process.returncode == 0, process.stderr
    things = list(yaml.safe_load_all(process.stdout))
    assert {thing["metadata"].get("namespace") for thing in things} == {"errata"}
    return things


def find(things: list[Thing], kind: str, name: str) -> Thing:
    [thing] = [item for item in things if (item["kind"], item["metadata"]["name"]) == (kind, name)]
    return thing


def pods(things: list[Thing]) -> list[Thing]:
    cluster = find(things, "RayService", "errata")["spec"]["rayClusterConfig"]
    groups = [cluster["headGroupSpec"], *cluster.get("workerGroupSpecs", [])]
    return [group["template"] for group in groups]


def test_the_rules_are_those_of_the_files() -> None:
    assert FILE.read_text() == build(), "run python -m deploy.prometheus"
    groups = yaml.safe_load(FILE.read_text())["spec"]["groups"]
    rules = {rule.get("alert") or rule["record"] for group in groups for rule in group["rules"]}
    assert rules == ALERTS.keys() | RECORDING_RULES.keys()


def test_pages_of_ours_and_of_ray_are_found_by_ports_that_pods_have(things: list[Thing]) -> None:
    spec = find(things, "PodMonitor", "errata")["spec"]
    assert all(endpoint.keys() <= ENDPOINT for endpoint in spec["podMetricsEndpoints"])
    templates = pods(things)
    selector = spec["selector"]["matchLabels"].items()
    assert all(selector <= template["metadata"]["labels"].items() for template in templates)
    ports = [
        {port["name"]: port["containerPort"] for port in container["ports"]}
        for template in templates
        for container in template["spec"]["containers"]
    ]
    assert all(names["metrics"] == 8080 for names in ports)
    [application] = yaml.safe_load(find(things, "RayService", "errata")["spec"]["serveConfigV2"])[
        "applications"
    ]
    pages = [names["page"] for names in ports if "page" in names]
    assert pages == [application["args"]["metrics_port"]], "where our processes run, and nowhere else"
