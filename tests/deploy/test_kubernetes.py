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

from service.launch.serve_deploy import read_settings
from tests.cluster.running import ROOT

KUBERAY = ROOT / "deploy" / "kuberay"
OVERLAYS = ("single", "cluster", "gpu")
SERVE = {"single": "one-pod.yaml", "cluster": "cluster.yaml", "gpu": "gpu.yaml"}
VERSION = "1.37"
COMPONENT = "app.kubernetes.io/component"
OURS = {"errata": "ray"}
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


class Built:
    """What an overlay comes to."""

    def __init__(self, name: str) -> None:
        words = [str(Path(sys.executable).with_name("kubectl")), "kustomize", str(KUBERAY / name)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        self.name = name
        self.things: list[Thing] = list(yaml.safe_load_all(done.stdout))

    def of(self, kind: str) -> list[Thing]:
        return [one for one in self.things if one["kind"] == kind]

    @property
    def ray(self) -> Thing:
        [service] = self.of("RayService")
        found: Thing = service["spec"]
        return found

    @property
    def workers(self) -> list[Thing]:
        found: list[Thing] = self.ray["rayClusterConfig"].get("workerGroupSpecs", [])
        return found

    def templates(self) -> Iterator[tuple[str, Thing]]:
        """Every kind of pod, by a name."""
        for one in self.of("StatefulSet"):
            yield one["metadata"]["name"], one["spec"]["template"]
        yield "head", self.ray["rayClusterConfig"]["headGroupSpec"]["template"]
        for one in self.workers:
            yield one["groupName"], one["template"]


@pytest.fixture(scope="module", params=OVERLAYS)
def built(request: pytest.FixtureRequest) -> Built:
    return Built(request.param)


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRATA_REDIS_URL", "redis://somewhere")
    monkeypatch.setenv("ERRATA_KEY", "a-key-for-this-test-only")


def is_valid(thing: Thing) -> None:
    kubernetes_validate.validate(thing, VERSION, strict=True)


def test_everything_is_valid_to_kubernetes_own_schemas(built: Built) -> None:
    own = [one for one in built.things if one["kind"] != "RayService"]
    for one in own:
        is_valid(one)
    kinds = {one["kind"] for one in own}
    assert kinds >= {"StatefulSet", "Service", "NetworkPolicy", "PodDisruptionBudget", "ServiceAccount"}


def test_the_pods_of_ray_are_valid_too(built: Built) -> None:
    for name, template in built.templates():
        is_valid(
            {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name}, "template": template}
        )


def test_a_misspelt_field_would_be_found(built: Built) -> None:
    _, template = next(built.templates())
    spoilt = {**template, "spec": {**template["spec"], "volums": []}}
    with pytest.raises(kubernetes_validate.ValidationError):
        is_valid({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": spoilt})


def test_a_rayservice_has_only_fields_that_kuberay_knows(built: Built) -> None:
    [service] = built.of("RayService")
    cluster = service["spec"]["rayClusterConfig"]
    assert service["apiVersion"] == "ray.io/v1"
    assert service["spec"].keys() <= FIELDS["spec"]
    assert cluster.keys() <= FIELDS["rayClusterConfig"]
    assert cluster["authOptions"] == {"mode": "token"}
    assert cluster["headGroupSpec"].keys() == FIELDS["headGroupSpec"]
    assert all(one.keys() == FIELDS["workerGroupSpecs"] for one in built.workers)
    parameters = [
        cluster["headGroupSpec"]["rayStartParams"],
        *(one["rayStartParams"] for one in built.workers),
    ]
    assert all(isinstance(value, str) for one in parameters for value in one.values())


def test_it_serves_what_the_file_in_deploy_serve_says(built: Built, secrets: None) -> None:
    said = yaml.safe_load(built.ray["serveConfigV2"])
    assert said == yaml.safe_load((ROOT / "deploy" / "serve" / SERVE[built.name]).read_text())
    schema = ServeDeploySchema.model_validate(said)
    assert (schema.http_options.host, schema.http_options.port) == ("0.0.0.0", 8000)
    read_settings(schema.applications[0].args)


def test_at_their_most_the_replicas_have_room_on_the_workers(built: Built, secrets: None) -> None:
    """Else some of them would wait for ever."""
    [application] = yaml.safe_load(built.ray["serveConfigV2"])["applications"]
    chosen = read_settings(application["args"])
    reserved: list[float] = []
    for one in application.get("deployments", []):
        count = one.get("num_replicas", 1 if one["name"] == "editor" else chosen.replica_limit)
        reserved += [one["ray_actor_options"]["num_cpus"]] * count
    assert bool(reserved) == bool(built.workers)
    room = [float(_cpus(group)) for group in built.workers for _ in range(group["replicas"])]
    assert _fit(reserved, room)


def _fit(reserved: list[float], room: list[float]) -> bool:
    """Each on one worker, the largest first."""
    left = [*room]
    for cpus in sorted(reserved, reverse=True):
        place = next((index for index, free in enumerate(left) if free >= cpus), None)
        if place is None:
            return False
        left[place] -= cpus
    return True


def _cpus(group: Thing) -> str:
    [container] = group["template"]["spec"]["containers"]
    found: str = container["resources"]["limits"]["cpu"]
    return found


def test_the_version_of_ray_is_the_one_in_the_image(built: Built) -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["serve"]
    assert f"ray[serve]=={built.ray['rayClusterConfig']['rayVersion']}" in needed


def test_no_pod_may_do_more_than_it_needs(built: Built) -> None:
    for name, template in built.templates():
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


def test_every_pod_says_what_it_needs_and_whether_it_is_well(built: Built) -> None:
    for name, template in built.templates():
        for container in template["spec"]["containers"]:
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}, name
            assert "memory" in container["resources"]["limits"], name
            assert {"startupProbe", "livenessProbe", "readinessProbe"} <= container.keys(), name
            ports = {one["name"] for one in container["ports"]}
            probes = [one["httpGet"]["port"] for key, one in container.items() if "httpGet" in (one or {})]
            assert {port for port in probes if isinstance(port, str)} <= ports, name


def test_what_is_mounted_is_there_and_nothing_else_is_written_to(built: Built) -> None:
    for name, template in built.templates():
        spec = template["spec"]
        claimed = {"data"} if name == "redis" else set()
        there = {one["name"] for one in spec["volumes"]} | claimed
        for container in spec["containers"]:
            assert {one["name"] for one in container["volumeMounts"]} == there, name


def test_secrets_are_only_named_and_are_those_that_the_script_makes(built: Built, tmp_path: Path) -> None:
    script = ROOT / "deploy" / "compose-secrets.sh"
    subprocess.run([str(script), str(tmp_path)], check=True, capture_output=True)
    made = {path.name for path in tmp_path.iterdir()}
    assert not built.of("Secret")
    for name, template in built.templates():
        [volume] = [one["secret"] for one in template["spec"]["volumes"] if "secret" in one]
        keys = {one["key"] for one in volume["items"]}
        assert (volume["secretName"], keys <= made) == ("errata", True), name
        [container] = template["spec"]["containers"]
        [mount] = [
            m["mountPath"] for m in container["volumeMounts"] if m["mountPath"].startswith("/run/secrets")
        ]
        named = {one["value"] for one in container["env"] if one["name"].endswith("_FILE")}
        assert named == {f"{mount}/{one['path']}" for one in volume["items"]}, name


def test_the_ledgers_server_is_started_as_deploy_redis_does_it(built: Built) -> None:
    [redis] = built.of("StatefulSet")
    [settings] = [one for one in built.of("ConfigMap") if one["metadata"]["name"].startswith("redis-")]
    folder = ROOT / "deploy" / "redis"
    assert settings["data"] == {
        name: (folder / name).read_text() for name in ("start.sh", "password.sh", "users.acl", "valkey.conf")
    }
    [container] = redis["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["/etc/valkey/start.sh"]
    volumes = {one["name"]: one for one in redis["spec"]["template"]["spec"]["volumes"]}
    assert volumes["settings"]["configMap"] == {"name": settings["metadata"]["name"], "defaultMode": 0o555}
    [claim] = redis["spec"]["volumeClaimTemplates"]
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert mounts[claim["metadata"]["name"]] == container["args"][container["args"].index("--dir") + 1]


def test_services_policies_and_budgets_mean_pods_that_there_are(built: Built) -> None:
    labels = [template["metadata"]["labels"] for _, template in built.templates()]
    wanted = [one["spec"]["podSelector"]["matchLabels"] for one in built.of("NetworkPolicy")]
    wanted += [one["spec"]["selector"]["matchLabels"] for one in built.of("PodDisruptionBudget")]
    wanted += [one["spec"]["selector"] for one in built.of("Service")]
    assert len(wanted) >= 4
    for selector in wanted:
        assert any(selector.items() <= own.items() for own in labels), selector


def test_the_budgets_need_no_scale_and_let_machines_with_workers_be_drained(built: Built) -> None:
    """KubeRay's pods belong to a kind without one, for which Kubernetes takes a number and no share."""
    budgets = {one["metadata"]["name"]: one["spec"] for one in built.of("PodDisruptionBudget")}
    assert all(isinstance(one["minAvailable"], int) for one in budgets.values())
    assert budgets["head"]["selector"]["matchLabels"] == {**OURS, COMPONENT: "head"}
    assert (budgets["head"]["minAvailable"], "workers" in budgets) == (1, bool(built.workers))
    for group in built.workers:
        assert budgets["workers"]["minAvailable"] < group["replicas"] - 1, (
            "also after one was taken away for good"
        )


def test_with_as_many_workers_as_a_drain_leaves_there_is_room_for_one_replica_of_each(
    built: Built, secrets: None
) -> None:
    [application] = yaml.safe_load(built.ray["serveConfigV2"])["applications"]
    least = [one["ray_actor_options"]["num_cpus"] for one in application.get("deployments", [])]
    for group in built.workers:
        [budget] = [
            one["spec"] for one in built.of("PodDisruptionBudget") if one["metadata"]["name"] == "workers"
        ]
        room = [float(_cpus(group))] * budget["minAvailable"]
        assert _fit(least, room)


def test_no_pod_takes_a_label_that_kuberay_selects_by(built: Built) -> None:
    pods = dict(built.templates())
    assert not [
        name for name in pods.keys() - {"redis"} if KUBERAYS & pods[name]["metadata"]["labels"].keys()
    ]


def test_only_the_service_reaches_the_ledger_and_only_ray_rays_ports(built: Built) -> None:
    policies = {one["metadata"]["name"]: one["spec"] for one in built.of("NetworkPolicy")}
    assert all(one["policyTypes"] == ["Ingress", "Egress"] for one in policies.values())
    [rule] = policies["redis"]["ingress"]
    assert rule["from"] == [{"podSelector": {"matchLabels": OURS}}]
    assert "egress" not in policies["redis"]
    anybody = [rule for rule in policies["errata"]["ingress"] if {"namespaceSelector": {}} in rule["from"]]
    assert [port["port"] for rule in anybody for port in rule["ports"]] == [8000]
    every_port = [rule["from"] for rule in policies["errata"]["ingress"] if "ports" not in rule]
    assert every_port == [[{"podSelector": {"matchLabels": OURS}}]]


def test_the_ways_out_that_are_written_down_are_valid_once_they_are_wanted(built: Built) -> None:
    lines = (KUBERAY / "base" / "network-policies.yaml").read_text().splitlines()
    [*_, start] = [number for number, line in enumerate(lines) if line == "    #"]
    wanted = yaml.safe_load("\n".join(line.removeprefix("    # ") for line in lines[start + 1 :]))
    [policy] = [one for one in built.of("NetworkPolicy") if one["metadata"]["name"] == "errata"]
    is_valid({**policy, "spec": {**policy["spec"], "egress": [*policy["spec"]["egress"], *wanted]}})
    ports = {port["port"] for rule in wanted for port in rule["ports"]}
    assert ports == {53, 6379, 443, 4318}


def test_prometheus_is_sent_to_the_pods_and_the_port_that_have_a_page(built: Built) -> None:
    """Ours are where our processes run: not on a head that only keeps Ray's books."""
    [application] = yaml.safe_load(built.ray["serveConfigV2"])["applications"]
    port = application["args"].get("metrics_port", 8000)
    scraped = {
        name: template["metadata"]["annotations"].get("prometheus.io/port", "8000")
        for name, template in built.templates()
        if "annotations" in template["metadata"]
    }
    assert scraped == {"answering" if built.workers else "head": str(port)}
    [policy] = [one["spec"] for one in built.of("NetworkPolicy") if one["metadata"]["name"] == "errata"]
    assert port in [opened["port"] for rule in policy["ingress"] for opened in rule.get("ports", [])]


def test_the_variant_with_a_gpu_has_its_image_computes_on_it_and_reserves_what_there_is(
    secrets: None,
) -> None:
    built = Built("gpu")
    [group] = built.workers
    [container] = group["template"]["spec"]["containers"]
    assert (container["image"], container["resources"]["limits"]["nvidia.com/gpu"]) == ("errata:cuda", "1")
    [application] = yaml.safe_load(built.ray["serveConfigV2"])["applications"]
    chosen = read_settings(application["args"])
    shares = {one["name"]: one["ray_actor_options"].get("num_gpus", 0) for one in application["deployments"]}
    assert {name for name, share in shares.items() if share} == {*chosen.systems, "editor"}
    assert all(chosen.device_of(name) == "cuda" for name in chosen.systems)
    processes = [shares[name] for name in chosen.systems for _ in range(chosen.replica_limit)]
    assert _fit([*processes, shares["editor"]], [1.0] * group["replicas"])


def test_the_overlays_read_images_alike() -> None:
    """Kustomize lets none of them read the file of another."""
    assert len({(KUBERAY / name / "images.yaml").read_text() for name in OVERLAYS}) == 1
