"""The objects of `kubectl apply -k` are valid by Kubernetes' own schemas, fit together, and grant no needless rights.

Each overlay is built by kubectl itself. A RayService is no kind of Kubernetes' own: its pods are held against the
schema of a PodTemplate, its Serve configuration against Ray's and ours, and the rest against the fields that KubeRay
documents. No pod is started here.
"""

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from ray.serve.schema import ServeDeploySchema

from service.launch.environment import CLUSTER_ENVIRONMENT
from service.launch.serve_deploy import read_settings
from tests.cluster.running import ROOT
from tests.deploy.test_serve_config import Part, can_get_stuck

KUBERAY = ROOT / "deploy" / "kuberay"
OVERLAYS = ("single", "cluster", "gpu")
SERVE = {"single": "one-pod.yaml", "cluster": "cluster.yaml", "gpu": "gpu.yaml"}
VERSION = "1.37"
COLOURS = ("blue", "green")
RAY_LABELS = {"errata": "ray"}


Thing = dict[str, Any]


class Overlay:
    """What an overlay comes to."""

    def __init__(self, name: str) -> None:
        words = [str(Path(sys.executable).with_name("kubectl")), "kustomize", str(KUBERAY / name)]
        process = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
        assert process.returncode == 0, process.stderr
        self.name = name
        self.things: list[Thing] = list(yaml.safe_load_all(process.stdout))

    def of(self, kind: str) -> list[Thing]:
        return [thing for thing in self.things if thing["kind"] == kind]

    def by_name(self, kind: str) -> dict[str, Thing]:
        """Return the specifications of a kind by the names of their objects."""
        return {thing["metadata"]["name"]: thing["spec"] for thing in self.of(kind)}

    @property
    def application(self) -> Thing:
        [application] = yaml.safe_load(self.ray["serveConfigV2"])["applications"]
        settings: Thing = application
        return settings

    @property
    def ray(self) -> Thing:
        [service] = self.of("RayService")
        spec: Thing = service["spec"]
        return spec

    @property
    def workers(self) -> list[Thing]:
        groups: list[Thing] = self.ray["rayClusterConfig"].get("workerGroupSpecs", [])
        return groups

    def templates(self) -> Iterator[tuple[str, Thing]]:
        """Return every kind of pod, by a name."""
        for thing in self.of("StatefulSet"):
            yield thing["metadata"]["name"], thing["spec"]["template"]
        yield "head", self.ray["rayClusterConfig"]["headGroupSpec"]["template"]
        for group in self.workers:
            yield group["groupName"], group["template"]

    def containers(self) -> Iterator[tuple[str, Thing]]:
        """Return every container, by the name of its kind of pod."""
        for name, template in self.templates():
            yield from ((name, container) for container in template["spec"]["containers"])


@pytest.fixture(scope="module", params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> Overlay:
    return Overlay(request.param)


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRATA_REDIS_URL", "redis://somewhere")
    monkeypatch.setenv("ERRATA_ADMIN_KEY", "a-key-for-this-test-only")


def is_valid(thing: Thing) -> None:
    kubernetes_validate.validate(thing, VERSION, strict=True)


def is_valid_pod(template: Thing) -> None:
    is_valid({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": template})


def test_everything_is_valid_to_kubernetes_own_schemas_in_the_namespace_of_the_policies(
    overlay: Overlay,
) -> None:
    native = [thing for thing in overlay.things if thing["kind"] != "RayService"]
    for thing in native:
        is_valid(thing)
    kinds = {thing["kind"] for thing in native}
    assert kinds >= {"StatefulSet", "Service", "NetworkPolicy", "PodDisruptionBudget", "ServiceAccount"}
    assert {thing["metadata"].get("namespace") for thing in overlay.things} == {"errata"}


def test_the_pods_of_ray_are_valid_too(overlay: Overlay) -> None:
    for _, template in overlay.templates():
        is_valid_pod(template)


def test_every_pod_of_ray_has_the_environment_that_the_launcher_gives_its_own(overlay: Overlay) -> None:
    pods = [pod for _, pod in overlay.templates() if pod["metadata"]["labels"].get("errata") == "ray"]
    assert len(pods) == 1 + len(overlay.workers)
    for pod in pods:
        [container] = pod["spec"]["containers"]
        environment = {variable["name"]: variable["value"] for variable in container["env"]}
        assert environment.items() >= CLUSTER_ENVIRONMENT.items()


def test_it_serves_what_the_file_in_deploy_serve_says(overlay: Overlay, secrets: None) -> None:
    config = yaml.safe_load(overlay.ray["serveConfigV2"])
    assert config == yaml.safe_load((ROOT / "deploy" / "serve" / SERVE[overlay.name]).read_text())
    schema = ServeDeploySchema.model_validate(config)
    assert (schema.http_options.host, schema.http_options.port) == ("0.0.0.0", 8000)
    read_settings(schema.applications[0].args)


def test_wherever_ray_puts_them_all_actors_have_room_on_the_workers(overlay: Overlay, secrets: None) -> None:
    """Otherwise one of them would wait for ever.

    With fewer workers the places are free for every earlier placement and for every order in which Ray starts them.
    """
    parts = _parts(overlay)
    assert bool(parts) == bool(overlay.workers)
    for group in overlay.workers:
        assert all(part.on(group["replicas"]) == part.count for part in parts), "at their most"
        for n_workers in range(1, group["replicas"] + 1):
            assert not can_get_stuck(parts, _machine(group), n_workers)


def _parts(overlay: Overlay) -> list[Part]:
    settings = read_settings(overlay.application["args"])
    return [Part.read(deployment, settings) for deployment in overlay.application.get("deployments", [])]


def _machine(group: Thing) -> dict[str, float]:
    """Return the machine that KubeRay describes to Ray for a worker, by its container's limits."""
    [container] = group["template"]["spec"]["containers"]
    limits = container["resources"]["limits"]
    gpus = {"GPU": float(limits["nvidia.com/gpu"])} if "nvidia.com/gpu" in limits else {}
    return {"CPU": float(limits["cpu"]), **gpus}


def test_the_version_of_ray_is_the_one_in_the_image(overlay: Overlay) -> None:
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"][
        "serve"
    ]
    assert f"ray[serve]=={overlay.ray['rayClusterConfig']['rayVersion']}" in requirements


def test_no_pod_may_do_more_than_it_needs(overlay: Overlay) -> None:
    for name, template in overlay.templates():
        spec = template["spec"]
        assert spec["serviceAccountName"] == "errata", name
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["securityContext"]["runAsNonRoot"], name
        assert spec["securityContext"]["runAsUser"] > 0, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, name


def test_every_pod_says_what_it_needs_and_whether_it_is_well(overlay: Overlay) -> None:
    """A pod that uses more memory than it asks for is evicted first, and no budget counts then."""
    for name, container in overlay.containers():
        requests, limits = (container["resources"][key] for key in ("requests", "limits"))
        assert requests.keys() == {"cpu", "memory"}, name
        assert requests["memory"] == limits["memory"], name
        assert {"startupProbe", "livenessProbe", "readinessProbe"} <= container.keys(), name
        ports = {port["name"] for port in container["ports"]}
        probes = [probe["httpGet"]["port"] for probe in container.values() if "httpGet" in (probe or {})]
        assert {port for port in probes if isinstance(port, str)} <= ports, name


def test_what_is_mounted_is_there_and_nothing_else_is_written_to(overlay: Overlay) -> None:
    for name, template in overlay.templates():
        spec = template["spec"]
        claims = {"data"} if name in ("redis", "ray-redis") else set()
        names = {volume["name"] for volume in spec["volumes"]} | claims
        for container in spec["containers"]:
            assert {mount["name"] for mount in container["volumeMounts"]} == names, name


def test_secrets_are_only_named_and_are_those_that_the_script_makes(overlay: Overlay, tmp_path: Path) -> None:
    script = ROOT / "deploy" / "compose-secrets.sh"
    subprocess.run([str(script), str(tmp_path)], check=True, capture_output=True)
    files = {path.name for path in tmp_path.iterdir()}
    assert not overlay.of("Secret")
    for name, template in overlay.templates():
        [volume] = [volume["secret"] for volume in template["spec"]["volumes"] if "secret" in volume]
        keys = {item["key"] for item in volume["items"]}
        assert (volume["secretName"], keys <= files) == ("errata", True), name
        [container] = template["spec"]["containers"]
        [mount] = [
            m["mountPath"] for m in container["volumeMounts"] if m["mountPath"].startswith("/run/secrets")
        ]
        paths = {variable["value"] for variable in container["env"] if variable["name"].endswith("_FILE")}
        assert paths == {f"{mount}/{item['path']}" for item in volume["items"]}, name


def test_the_ledgers_server_is_started_as_deploy_redis_does_it(overlay: Overlay) -> None:
    redis = overlay.by_name("StatefulSet")["redis"]
    [settings] = [
        config_map
        for config_map in overlay.of("ConfigMap")
        if config_map["metadata"]["name"].startswith("redis-")
    ]
    folder = ROOT / "deploy" / "redis"
    assert settings["data"] == {
        name: (folder / name).read_text() for name in ("start.sh", "password.sh", "users.acl", "valkey.conf")
    }
    [container] = redis["template"]["spec"]["containers"]
    assert container["command"] == ["/etc/valkey/start.sh"]
    volumes = {volume["name"]: volume for volume in redis["template"]["spec"]["volumes"]}
    assert volumes["settings"]["configMap"] == {"name": settings["metadata"]["name"], "defaultMode": 0o555}
    max_memory_mb = int(container["args"][container["args"].index("--maxmemory") + 1].removesuffix("mb"))
    limit_gi = int(container["resources"]["limits"]["memory"].removesuffix("Gi"))
    assert 0.5 <= max_memory_mb / (1024 * limit_gi) <= 0.8, "rewriting the log copies some of it"
    [claim] = redis["volumeClaimTemplates"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts[claim["metadata"]["name"]] == container["args"][container["args"].index("--dir") + 1]


def test_services_policies_and_budgets_mean_pods_that_there_are(overlay: Overlay) -> None:
    pods = [template["metadata"]["labels"] for _, template in overlay.templates()]
    labels = [pod | ({"colour": colour} if "colour" in pod else {}) for pod in pods for colour in COLOURS]
    selectors = [thing["spec"]["podSelector"]["matchLabels"] for thing in overlay.of("NetworkPolicy")]
    selectors += [thing["spec"]["selector"]["matchLabels"] for thing in overlay.of("PodDisruptionBudget")]
    selectors += [thing["spec"]["selector"] for thing in overlay.of("Service")]
    assert len(selectors) >= 4
    for selector in selectors:
        assert any(selector.items() <= pod.items() for pod in labels), selector


def test_the_volume_of_the_ledger_outlives_what_is_deleted_here(overlay: Overlay) -> None:
    """One of these is `kubectl delete -k`, which would delete a namespace with all its objects."""
    assert not overlay.of("Namespace") + overlay.of("PersistentVolumeClaim")
    policy = overlay.by_name("StatefulSet")["redis"]["persistentVolumeClaimRetentionPolicy"]
    assert policy == {"whenDeleted": "Retain", "whenScaled": "Retain"}


def test_the_namespace_stands_by_itself_and_admits_restricted_pods_alone() -> None:
    namespace = yaml.safe_load((KUBERAY / "namespace.yaml").read_text())
    is_valid(namespace)
    assert namespace["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "restricted"}


def test_only_the_service_reaches_the_ledger_and_only_ray_rays_ports(overlay: Overlay) -> None:
    policies = overlay.by_name("NetworkPolicy")
    for pod in (pod["metadata"]["labels"].items() for _, pod in overlay.templates()):
        types = [
            p["policyTypes"] for p in policies.values() if p["podSelector"]["matchLabels"].items() <= pod
        ]
        assert ["Ingress", "Egress"] in types
    [rule] = policies["redis"]["ingress"]
    assert rule["from"] == [{"podSelector": {"matchLabels": RAY_LABELS}}]
    assert "egress" not in policies["redis"]
    public_rules = [
        rule for rule in policies["errata"]["ingress"] if {"namespaceSelector": {}} in rule["from"]
    ]
    assert [port["port"] for rule in public_rules for port in rule["ports"]] == [8000]
    every_port = [rule["from"] for rule in policies["errata"]["ingress"] if "ports" not in rule]
    assert every_port == [[{"podSelector": {"matchLabels": RAY_LABELS}}]]


def test_prometheus_is_sent_to_the_pods_and_the_port_that_have_a_page(overlay: Overlay) -> None:
    """Errata's pages are where its processes run: not on a head that only keeps Ray's state."""
    port = overlay.application["args"].get("metrics_port", 8000)
    ports_by_pod = {
        name: template["metadata"]["annotations"].get("prometheus.io/port", "8000")
        for name, template in overlay.templates()
        if "annotations" in template["metadata"]
    }
    assert ports_by_pod == {"answering" if overlay.workers else "head": str(port)}
    policy = overlay.by_name("NetworkPolicy")["errata"]
    assert port in [allowed["port"] for rule in policy["ingress"] for allowed in rule.get("ports", [])]
