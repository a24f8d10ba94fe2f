"""What `kubectl apply -k` would send is valid to Kubernetes' own schemas, hangs together, and gives nobody too much.

Each overlay is built by kubectl itself. A RayService is no kind of Kubernetes' own: its pods are held against the
schema of a PodTemplate, its Serve configuration against Ray's and ours, and the rest against the fields that KubeRay
documents. No pod is started here.
"""

from __future__ import annotations

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

KUBERAY = ROOT / "deploy" / "kuberay"
OVERLAYS = ("single", "cluster", "gpu")
SERVE = {"single": "one-pod.yaml", "cluster": "cluster.yaml", "gpu": "gpu.yaml"}
VERSION = "1.37"
COMPONENT = "app.kubernetes.io/component"
RAY_LABELS = {"errata": "ray"}
KUBERAYS = {
    "app.kubernetes.io/name",
    "app.kubernetes.io/created-by",
}  # by which its own services select the head

# Of KubeRay 1.6, as far as they are used: https://docs.ray.io/en/master/cluster/kubernetes/references/api.html
FIELDS = {
    "spec": {"serveConfigV2", "rayClusterConfig"},
    "rayClusterConfig": {"rayVersion", "authOptions", "headGroupSpec", "workerGroupSpecs"},
    "authOptions": {"mode"},
    "headGroupSpec": {"rayStartParams", "template"},
    "workerGroupSpecs": {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"},
}

Thing = dict[str, Any]


class Overlay:
    """What an overlay comes to."""

    def __init__(self, name: str) -> None:
        words = [str(Path(sys.executable).with_name("kubectl")), "kustomize", str(KUBERAY / name)]
        process = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        assert process.returncode == 0, process.stderr
        self.name = name
        self.things: list[Thing] = list(yaml.safe_load_all(process.stdout))

    def of(self, kind: str) -> list[Thing]:
        return [thing for thing in self.things if thing["kind"] == kind]

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
        """Every kind of pod, by a name."""
        for thing in self.of("StatefulSet"):
            yield thing["metadata"]["name"], thing["spec"]["template"]
        yield "head", self.ray["rayClusterConfig"]["headGroupSpec"]["template"]
        for group in self.workers:
            yield group["groupName"], group["template"]


@pytest.fixture(scope="module", params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> Overlay:
    return Overlay(request.param)


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRATA_REDIS_URL", "redis://somewhere")
    monkeypatch.setenv("ERRATA_ADMIN_KEY", "a-key-for-this-test-only")


def is_valid(thing: Thing) -> None:
    kubernetes_validate.validate(thing, VERSION, strict=True)


def test_everything_is_valid_to_kubernetes_own_schemas(overlay: Overlay) -> None:
    native = [thing for thing in overlay.things if thing["kind"] != "RayService"]
    for thing in native:
        is_valid(thing)
    kinds = {thing["kind"] for thing in native}
    assert kinds >= {"StatefulSet", "Service", "NetworkPolicy", "PodDisruptionBudget", "ServiceAccount"}


def test_the_pods_of_ray_are_valid_too(overlay: Overlay) -> None:
    for name, template in overlay.templates():
        is_valid(
            {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name}, "template": template}
        )


def test_a_misspelt_field_would_be_found(overlay: Overlay) -> None:
    _, template = next(overlay.templates())
    spoilt = {**template, "spec": {**template["spec"], "volums": []}}
    with pytest.raises(kubernetes_validate.ValidationError):
        is_valid({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": spoilt})


def test_a_rayservice_has_only_fields_that_kuberay_knows(overlay: Overlay) -> None:
    [service] = overlay.of("RayService")
    cluster = service["spec"]["rayClusterConfig"]
    assert service["apiVersion"] == "ray.io/v1"
    assert service["spec"].keys() <= FIELDS["spec"]
    assert cluster.keys() <= FIELDS["rayClusterConfig"]
    assert cluster["authOptions"] == {"mode": "token"}
    assert cluster["headGroupSpec"].keys() == FIELDS["headGroupSpec"]
    assert all(group.keys() == FIELDS["workerGroupSpecs"] for group in overlay.workers)
    parameters = [
        cluster["headGroupSpec"]["rayStartParams"],
        *(group["rayStartParams"] for group in overlay.workers),
    ]
    assert all(isinstance(value, str) for params in parameters for value in params.values())


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


def test_at_their_most_the_replicas_have_room_on_the_workers(overlay: Overlay, secrets: None) -> None:
    """Else some of them would wait for ever."""
    [application] = yaml.safe_load(overlay.ray["serveConfigV2"])["applications"]
    settings = read_settings(application["args"])
    requests: list[float] = []
    for part in application.get("deployments", []):
        count = part.get("num_replicas", 1 if part["name"] == "editor" else settings.replica_limit)
        requests += [part["ray_actor_options"]["num_cpus"]] * count
    assert bool(requests) == bool(overlay.workers)
    room = [float(_cpus(group)) for group in overlay.workers for _ in range(group["replicas"])]
    assert _fit(requests, room)


def _fit(requests: list[float], room: list[float]) -> bool:
    """Each on one worker, the largest first."""
    free_cpus = [*room]
    for cpus in sorted(requests, reverse=True):
        place = next((index for index, cpus_left in enumerate(free_cpus) if cpus_left >= cpus), None)
        if place is None:
            return False
        free_cpus[place] -= cpus
    return True


def _cpus(group: Thing) -> str:
    [container] = group["template"]["spec"]["containers"]
    cpus: str = container["resources"]["limits"]["cpu"]
    return cpus


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
    for name, template in overlay.templates():
        for container in template["spec"]["containers"]:
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}, name
            assert "memory" in container["resources"]["limits"], name
            assert {"startupProbe", "livenessProbe", "readinessProbe"} <= container.keys(), name
            ports = {port["name"] for port in container["ports"]}
            probes = [
                probe["httpGet"]["port"] for key, probe in container.items() if "httpGet" in (probe or {})
            ]
            assert {port for port in probes if isinstance(port, str)} <= ports, name


def test_what_is_mounted_is_there_and_nothing_else_is_written_to(overlay: Overlay) -> None:
    for name, template in overlay.templates():
        spec = template["spec"]
        claims = {"data"} if name == "redis" else set()
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
    [redis] = overlay.of("StatefulSet")
    [settings] = [
        config_map
        for config_map in overlay.of("ConfigMap")
        if config_map["metadata"]["name"].startswith("redis-")
    ]
    folder = ROOT / "deploy" / "redis"
    assert settings["data"] == {
        name: (folder / name).read_text() for name in ("start.sh", "password.sh", "users.acl", "valkey.conf")
    }
    [container] = redis["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["/etc/valkey/start.sh"]
    volumes = {volume["name"]: volume for volume in redis["spec"]["template"]["spec"]["volumes"]}
    assert volumes["settings"]["configMap"] == {"name": settings["metadata"]["name"], "defaultMode": 0o555}
    [claim] = redis["spec"]["volumeClaimTemplates"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts[claim["metadata"]["name"]] == container["args"][container["args"].index("--dir") + 1]


def test_services_policies_and_budgets_mean_pods_that_there_are(overlay: Overlay) -> None:
    labels = [template["metadata"]["labels"] for _, template in overlay.templates()]
    selectors = [thing["spec"]["podSelector"]["matchLabels"] for thing in overlay.of("NetworkPolicy")]
    selectors += [thing["spec"]["selector"]["matchLabels"] for thing in overlay.of("PodDisruptionBudget")]
    selectors += [thing["spec"]["selector"] for thing in overlay.of("Service")]
    assert len(selectors) >= 4
    for selector in selectors:
        assert any(selector.items() <= pod.items() for pod in labels), selector


def test_the_budgets_need_no_scale_and_let_machines_with_workers_be_drained(overlay: Overlay) -> None:
    """KubeRay's pods belong to a kind without one, for which Kubernetes takes a number and no share."""
    budgets = {budget["metadata"]["name"]: budget["spec"] for budget in overlay.of("PodDisruptionBudget")}
    assert all(isinstance(budget["minAvailable"], int) for budget in budgets.values())
    assert budgets["head"]["selector"]["matchLabels"] == {**RAY_LABELS, COMPONENT: "head"}
    assert (budgets["head"]["minAvailable"], "workers" in budgets) == (1, bool(overlay.workers))
    for group in overlay.workers:
        assert budgets["workers"]["minAvailable"] < group["replicas"] - 1, (
            "also after one was taken away for good"
        )


def test_with_as_many_workers_as_a_drain_leaves_there_is_room_for_one_replica_of_each(
    overlay: Overlay, secrets: None
) -> None:
    [application] = yaml.safe_load(overlay.ray["serveConfigV2"])["applications"]
    smallest = [part["ray_actor_options"]["num_cpus"] for part in application.get("deployments", [])]
    for group in overlay.workers:
        [budget] = [
            budget["spec"]
            for budget in overlay.of("PodDisruptionBudget")
            if budget["metadata"]["name"] == "workers"
        ]
        room = [float(_cpus(group))] * budget["minAvailable"]
        assert _fit(smallest, room)


def test_no_pod_takes_a_label_that_kuberay_selects_by(overlay: Overlay) -> None:
    pods = dict(overlay.templates())
    assert not [
        name for name in pods.keys() - {"redis"} if KUBERAYS & pods[name]["metadata"]["labels"].keys()
    ]


def test_only_the_service_reaches_the_ledger_and_only_ray_rays_ports(overlay: Overlay) -> None:
    policies = {policy["metadata"]["name"]: policy["spec"] for policy in overlay.of("NetworkPolicy")}
    assert all(policy["policyTypes"] == ["Ingress", "Egress"] for policy in policies.values())
    [rule] = policies["redis"]["ingress"]
    assert rule["from"] == [{"podSelector": {"matchLabels": RAY_LABELS}}]
    assert "egress" not in policies["redis"]
    public_rules = [
        rule for rule in policies["errata"]["ingress"] if {"namespaceSelector": {}} in rule["from"]
    ]
    assert [port["port"] for rule in public_rules for port in rule["ports"]] == [8000]
    every_port = [rule["from"] for rule in policies["errata"]["ingress"] if "ports" not in rule]
    assert every_port == [[{"podSelector": {"matchLabels": RAY_LABELS}}]]


def test_the_ways_out_that_are_written_down_are_valid_once_they_are_wanted(overlay: Overlay) -> None:
    lines = (KUBERAY / "base" / "network-policies.yaml").read_text().splitlines()
    [*_, start] = [number for number, line in enumerate(lines) if line == "    #"]
    egress = yaml.safe_load("\n".join(line.removeprefix("    # ") for line in lines[start + 1 :]))
    [policy] = [policy for policy in overlay.of("NetworkPolicy") if policy["metadata"]["name"] == "errata"]
    is_valid({**policy, "spec": {**policy["spec"], "egress": [*policy["spec"]["egress"], *egress]}})
    ports = {port["port"] for rule in egress for port in rule["ports"]}
    assert ports == {53, 6379, 443, 4318}


def test_prometheus_is_sent_to_the_pods_and_the_port_that_have_a_page(overlay: Overlay) -> None:
    """Ours are where our processes run: not on a head that only keeps Ray's books."""
    [application] = yaml.safe_load(overlay.ray["serveConfigV2"])["applications"]
    port = application["args"].get("metrics_port", 8000)
    ports_by_pod = {
        name: template["metadata"]["annotations"].get("prometheus.io/port", "8000")
        for name, template in overlay.templates()
        if "annotations" in template["metadata"]
    }
    assert ports_by_pod == {"answering" if overlay.workers else "head": str(port)}
    [policy] = [
        policy["spec"] for policy in overlay.of("NetworkPolicy") if policy["metadata"]["name"] == "errata"
    ]
    assert port in [allowed["port"] for rule in policy["ingress"] for allowed in rule.get("ports", [])]


def test_the_variant_with_a_gpu_has_its_image_computes_on_it_and_reserves_what_there_is(
    secrets: None,
) -> None:
    overlay = Overlay("gpu")
    [group] = overlay.workers
    [container] = group["template"]["spec"]["containers"]
    assert (container["image"], container["resources"]["limits"]["nvidia.com/gpu"]) == ("errata:cuda", "1")
    [application] = yaml.safe_load(overlay.ray["serveConfigV2"])["applications"]
    settings = read_settings(application["args"])
    shares = {
        part["name"]: part["ray_actor_options"].get("num_gpus", 0) for part in application["deployments"]
    }
    assert {name for name, share in shares.items() if share} == {*settings.systems, "editor"}
    assert all(settings.device_of(name) == "cuda" for name in settings.systems)
    processes = [shares[name] for name in settings.systems for _ in range(settings.replica_limit)]
    assert _fit([*processes, shares["editor"]], [1.0] * group["replicas"])


def test_the_overlays_read_images_alike() -> None:
    """Kustomize lets none of them read the file of another."""
    assert len({(KUBERAY / name / "images.yaml").read_text() for name in OVERLAYS}) == 1
