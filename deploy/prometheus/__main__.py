"""Write the rules as the Prometheus Operator reads them: run `python -m deploy.prometheus` after a change of a rule."""

from __future__ import annotations

from pathlib import Path

import yaml

RULES = Path(__file__).parent
FILE = RULES.parent / "kuberay" / "monitoring" / "rules.yaml"
HEADING = "# Written by `python -m deploy.prometheus` from deploy/prometheus/recording.yml and alerts.yml\n"


def build() -> str:
    """Return the groups of both files as one object of Kubernetes; each group has a name of Errata's."""
    groups = [
        {**group, "name": f"errata-{name}"}
        for name in ("recording", "alerts")
        for group in yaml.safe_load((RULES / f"{name}.yml").read_text())["groups"]
    ]
    rule = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "errata"},
        "spec": {"groups": groups},
    }
    return HEADING + yaml.safe_dump(rule, sort_keys=False, width=120, allow_unicode=True)


if __name__ == "__main__":
    FILE.write_text(build())
