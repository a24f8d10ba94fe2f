"""A set-up looks at the machine first, mends a half-made .venv, and has one version of each package, by its hash."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy import install
from tests.cluster.running import ROOT

LOCKS = ROOT / "deploy" / "locks"
NAMES = ("serve-cpu", "serve-gpu", "dev-cpu", "dev-gpu")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ENOUGH = {
    "python": (3, 12),
    "libc": ("glibc", "2.36"),
    "processor": "x86_64",
    "memory": 8 * install.GB,
    "room": 50 * install.GB,
    "required": 4 * install.GB,
}


def read_lock(name: str) -> dict[str, set[str]]:
    """Return the locked versions of each package."""
    lines = re.findall(r"^([a-z0-9._-]+)==([^ ]+) ", (LOCKS / f"{name}.txt").read_text(), re.MULTILINE)
    versions: dict[str, set[str]] = {}
    for package, version in lines:
        versions.setdefault(package, set()).add(version)
    return versions


def test_an_ordinary_machine_has_no_faults() -> None:
    assert install.find_faults(**ENOUGH) == []


@pytest.mark.parametrize(
    ("lack", "sentence"),
    [
        ({"python": (3, 10)}, "Python 3.10 is not supported: install Python 3.11 to 3.14 and name it"),
        ({"python": (3, 15)}, "Python 3.15 is not supported"),
        ({"libc": ("", "")}, "The C library is not glibc, and the packages are built for glibc 2.28"),
        ({"libc": ("glibc", "2.17")}, "The C library is glibc 2.17"),
        ({"processor": "riscv64"}, "There are no packages for the processor riscv64"),
        ({"memory": 2 * install.GB}, "There are 2.0 GB of memory, and the service needs 3.5 GB"),
        ({"room": 10**8}, "has 0.1 GB of room, and the installation takes 4 GB"),
    ],
)
def test_each_lack_is_one_sentence(lack: dict[str, object], sentence: str) -> None:
    [fault] = install.find_faults(**(ENOUGH | lack))
    assert sentence in fault
    assert fault.endswith(".")


def test_a_half_made_venv_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "VENV", str(tmp_path / "a [b] c" / ".venv"))
    python = tmp_path / "a [b] c" / ".venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", python.parents[1]], check=True)
    install._make_venv("cpu")
    assert subprocess.run([python, "-m", "pip", "--version"], check=True, capture_output=True).stdout
    mark = python.parents[1] / "kept"
    mark.touch()
    install._make_venv("cpu")
    assert mark.exists(), "one that works is kept"


@pytest.mark.parametrize("name", NAMES)
def test_each_package_has_one_version_and_its_hashes(name: str) -> None:
    text = (LOCKS / f"{name}.txt").read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    assert all(re.match(r"[a-z0-9._-]+==\S+ ", entry) and "--hash=sha256:" in entry for entry in entries)


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_fits_what_the_project_asks_for(name: str) -> None:
    """A requirement that was changed without `make locks` is found here."""
    purpose, kind = name.split("-")
    extras = PROJECT["optional-dependencies"]
    requirements = [*PROJECT["dependencies"], *extras["serve"], *extras[kind]]
    if purpose == "dev":
        requirements += [*extras["dev"], *extras["bench"], *extras["build"]]
    lock = read_lock(name)
    for requirement in map(Requirement, requirements):
        package = canonicalize_name(requirement.name)
        if name.endswith("cpu") and package == "torch":
            assert Requirement(install.TORCH).specifier.contains("2.13.0+cpu")
            assert requirement.specifier.contains(install.TORCH.split("==")[1])
            continue
        assert package in lock, f"{package} is in no lock: run `make locks`"
        assert all(requirement.specifier.contains(version) for version in lock[package])


def test_the_locks_agree_and_only_that_of_a_gpu_has_its_packages() -> None:
    locks = {name: read_lock(name) for name in NAMES}
    for name in NAMES:
        assert all(versions <= locks["dev-gpu"][package] for package, versions in locks[name].items())
        is_gpu = name.endswith("gpu")
        assert any(package.startswith("nvidia-") for package in locks[name]) == is_gpu
        assert ("torch" in locks[name]) == is_gpu


def test_every_package_that_is_imported_is_declared() -> None:
    """A package that another one happens to bring disappears with that other one."""
    extras = PROJECT["optional-dependencies"]
    groups = {
        "clients/python/errata": ["mcp"],
        "service": ["serve", "cpu"],
        "models": ["serve", "cpu", "build", "dev"],
    }
    distributions = packages_distributions()
    for folder, names in groups.items():
        requirements = [*PROJECT["dependencies"], *(line for name in names for line in extras[name])]
        project_packages = {canonicalize_name(Requirement(line).name) for line in requirements} | {"errata"}
        for path in (ROOT / folder).rglob("*.py"):
            for module in _imports(path):
                if module in sys.stdlib_module_names or module in ("service", "models", "errata"):
                    continue
                packages = {canonicalize_name(package) for package in distributions[module]}
                assert packages & project_packages, (
                    f"{path.relative_to(ROOT)} imports {module}: declare {packages}"
                )


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names
