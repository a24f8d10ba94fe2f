"""Prometheus reads the pages of the service: a server of the tests, and what it is asked."""

import json
import math
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.cluster.running import ROOT, Service, quiet_port, wait_until

RULES = ROOT / "deploy" / "prometheus"
PERU, OCEAN = "What is the capital of Peru?", "How deep is the ocean?"
WINDOW = "15s"  # in place of Grafana's $__rate_interval
OFTEN = {"15s": "1s", "30s": "2s"}

needs_prometheus = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")),
    reason="Prometheus is not installed: run deploy/prometheus/install.sh as root",
)


@dataclass(frozen=True)
class Line:
    """One series. points: moments with values."""

    labels: Mapping[str, str]
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Prometheus:
    """A running server. Its answers are those of its HTTP API. start_s: since 1970."""

    url: str
    start_s: float

    def get(self, path: str, **parameters: str) -> Any:
        reply = httpx.get(f"{self.url}/api/v1/{path}", params=parameters, timeout=60, trust_env=False)
        body = reply.json()
        assert body["status"] == "success", f"{parameters}: {body}"
        return body["data"]

    def series(self, expr: str) -> list[tuple[dict[str, str], float]]:
        """Return the present series of an expression, without NaN."""
        result = self.get("query", query=fill_variables(expr))["result"]
        values = [(series["metric"], float(series["value"][1])) for series in result]
        return [(labels, value) for labels, value in values if not math.isnan(value)]

    def history(self, expr: str) -> list[Line]:
        """Return every series since the start, second by second, as a picture shows it, without NaN."""
        parameters = {
            "query": fill_variables(expr),
            "start": f"{self.start_s}",
            "end": f"{time.time()}",
            "step": "1",
        }
        result = self.get("query_range", **parameters)["result"]
        lines = [
            (series["metric"], [(at, float(value)) for at, value in series["values"]]) for series in result
        ]
        numbers = [(labels, [(at, v) for at, v in points if not math.isnan(v)]) for labels, points in lines]
        return [Line(labels, points) for labels, points in numbers if points]

    def value(self, expr: str) -> float:
        """Return the value of an expression with one series; NaN while there is none."""
        result = self.series(expr)
        return result[0][1] if len(result) == 1 else math.nan


def fill_variables(expr: str) -> str:
    """Fill a query's variables as Grafana would, with all choices selected."""
    expr = expr.replace("$__rate_interval", WINDOW)
    return re.sub(r"\$(model|namespace|cluster)", ".*", expr)


@contextmanager
def run_prometheus(service: Service, folder: Path, changes: Mapping[str, str]) -> Iterator[Prometheus]:
    """changes: what to replace in the alerts, so that one that waits for minutes can be waited for."""
    config = _configuration(service, folder, changes)
    port = quiet_port()
    command = [
        "prometheus",
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    prometheus = Prometheus(f"http://127.0.0.1:{port}", time.time())
    try:
        wait_until(lambda: _is_ready(prometheus, process, folder), 120, "Prometheus to be ready")
        yield prometheus
    finally:
        process.terminate()
        process.wait(60)


def _configuration(service: Service, folder: Path, changes: Mapping[str, str]) -> Path:
    """Return the shipped files with this service's address and an interval of a second."""
    address = {"127.0.0.1:8000": f"127.0.0.1:{service.port}"}
    for name, replacements in {
        "prometheus.yml": OFTEN | address,
        "recording.yml": {},
        "alerts.yml": changes,
    }.items():
        text = (RULES / name).read_text()
        for old, new in replacements.items():
            assert old in text, f"{name} does not say {old}"
            text = text.replace(old, new)
        (folder / name).write_text(text)
    return folder / "prometheus.yml"


def _is_ready(prometheus: Prometheus, process: subprocess.Popen[bytes], folder: Path) -> bool:
    assert process.poll() is None, (folder / "prometheus.log").read_text()
    try:
        return httpx.get(f"{prometheus.url}/-/ready", timeout=10, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


def rules(name: str) -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load((RULES / name).read_text())["groups"] for rule in group["rules"]]


ALERTS = {rule["alert"]: rule for rule in rules("alerts.yml")}
RECORDING_RULES = {rule["record"]: rule["expr"] for rule in rules("recording.yml")}


def metric_names(expr: str) -> set[str]:
    """Return names of Errata's and of Ray's metrics, without those that a recording rule makes."""
    bare = re.sub(r'"[^"]*"', '""', fill_variables(expr))
    return set(re.findall(r"(?<![\w:])((?:errata|ray)_\w+)(?![\w:])", bare))


class Traffic:
    """The usual traffic of a service. commits: commits that `edits` makes."""

    commits = 4

    def __init__(self, service: Service, folder: Path) -> None:
        self._service, self._file = service, folder / "cities.spo"
        self._file.write_text("Peru\tlargest city\tLima\nAtlantis\tcapital\tPoseidonis\n")

    def questions(self) -> None:
        """Ask questions that are answered, declined, refused, not found; single ones and batches; of both models."""
        with self._service.http() as http:
            for model in ("nkb", "atlas"):
                for question in (PERU, OCEAN, "What is the capital of Atlantis?"):
                    http.post("/v1/answers", json={"question": question, "model": model})
                batch = [{"question": PERU, "model": model}] * 40
                http.post("/v1/answers/batch", json={"questions": batch})
            assert http.post("/v1/answers", json={"question": ""}).status_code == 422
            assert http.post("/v1/answers", json={"question": PERU, "model": "no"}).status_code == 404

    def upstream(self) -> None:
        """Ask the language model of the upstream `team`."""
        fields = {"model": "team/json", "messages": [{"role": "user", "content": OCEAN}]}
        with self._service.http() as http:
            assert http.post("/v1/chat/completions", json=fields).status_code == 200

    def edits(self) -> None:
        """Make edits, try, refuse and revert some; make a fact, and a file of facts."""
        with self._service.errata() as errata:
            receipt = errata.edit(PERU, "Cusco", message="moved")
            errata.edit(PERU, "Puno", dry_run=True)
            errata.fact("Peru", "currency", "inti")
            errata.import_graph(self._file)
            errata.revert(receipt.version or 0)
        with self._service.http() as http:
            assert http.post("/admin/reverts", json={"version": 10**6}).status_code >= 400

    def page(self) -> str:
        with self._service.http() as http:
            return http.get("/metrics").text


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
