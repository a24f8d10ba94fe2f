"""Set up .venv from the locks, after a look at the machine: `python3 deploy/install.py serve cpu`.

It needs the standard library alone, and any Python 3 can read it, so that an old one is told what to install instead.
A .venv that an earlier run left half done is made again.
"""

import os
import platform
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
OLDEST, NEWEST = (3, 11), (3, 14)
GLIBC = (2, 28)  # version of the C library that the wheels of torch, Ray and ONNX Runtime are built for
PROCESSORS = ("x86_64", "aarch64")
GB = 10**9
# Room on the disk for what pip loads and unpacks, by purpose and kind.
ROOM = {
    ("serve", "cpu"): 3 * GB,
    ("dev", "cpu"): 4 * GB,
    ("serve", "gpu"): 14 * GB,
    ("dev", "gpu"): 16 * GB,
}
MEMORY = int(3.5 * GB)  # least memory in which the two default systems and Ray start, and edits are made
TORCH = "torch==2.13.0+cpu"  # the build without CUDA, which pip never confuses with PyPI's
CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def find_faults(python, libc, processor, memory, room, required):
    """List what this machine lacks, a sentence each.

    Args:
        python: Version of Python, e.g. (3, 11).
        libc: Name and version of the C library, as `platform.libc_ver` gives them.
        processor: Architecture, as `platform.machine` gives it.
        memory: Bytes of memory that this process may have; None where it is not known.
        room: Free bytes on the disk of .venv.
        required: Bytes that the installation takes.
    """
    faults = []
    if not OLDEST <= python[:2] <= NEWEST:
        supported = f"{_version_text(OLDEST)} to {_version_text(NEWEST)}"
        faults.append(
            f"Python {_version_text(python[:2])} is not supported: install Python {supported} and name it, e.g. "
            "`make serve PYTHON=python3.12`."
        )
    name, version = libc
    if name != "glibc" or _numbers(version) < GLIBC:
        faults.append(
            f"The C library is {' '.join(filter(None, libc)) or 'not glibc'}, and the packages are built for glibc "
            f"{_version_text(GLIBC)} or newer: use Debian 10, Ubuntu 20.04, RHEL 8 or newer, or the container image."
        )
    if processor not in PROCESSORS:
        names = " or ".join(PROCESSORS)
        faults.append(f"There are no packages for the processor {processor}: use one of {names}.")
    if memory is not None and memory < MEMORY:
        faults.append(
            f"There are {memory / GB:.1f} GB of memory, and the service needs {MEMORY / GB:.1f} GB: use a larger "
            "machine, or raise the limit of this container."
        )
    if room < required:
        faults.append(
            f"{ROOT} has {room / GB:.1f} GB of room, and the installation takes {required / GB:.0f} GB: free some, "
            "or move the checkout."
        )
    return faults


def _version_text(version):
    return ".".join(map(str, version))


def _numbers(version):
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def count_memory():
    """Return the bytes of memory as the service counts them at its start; None for a Python that cannot read it."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        return None
    sys.path.insert(0, ROOT)
    from service.machine_memory import count_memory as count

    return count()


def install(purpose, kind):
    """Make .venv, or mend it, and install the packages of a lock.

    Args:
        purpose: `serve`, or `dev`, which has the packages of `serve` too.
        kind: `cpu` or `gpu`.
    """
    _make_venv(kind)
    python = os.path.join(VENV, "bin", "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    if kind == "cpu" and not _has_torch(python):
        # Where a mirror or a folder that pip is configured for has this build, it is taken; else from its own index.
        quiet = subprocess.DEVNULL
        if subprocess.call([*pip, TORCH], stdout=quiet, stderr=quiet):
            _run([*pip, "--index-url", CPU_INDEX, TORCH])
    lock = os.path.join(ROOT, "deploy", "locks", f"{purpose}-{kind}.txt")
    _run([*pip, "--require-hashes", "--requirement", lock])
    _run([*pip, "--no-build-isolation", "--editable", ROOT])
    for name in ("serve",) if purpose == "serve" else ("serve", "dev"):
        _write(os.path.join(VENV, name), kind)


def _make_venv(kind):
    """Keep a .venv that works and is of this kind, otherwise make a new one."""
    python, mark = os.path.join(VENV, "bin", "python"), os.path.join(VENV, "serve")
    if os.path.exists(mark):
        with open(mark) as file:
            previous = file.read().strip()
        if previous and previous != kind:
            sys.exit(
                f".venv is set up for a {previous.upper()}: remove it with `make clean`, then try again."
            )
    quiet = subprocess.DEVNULL
    if os.path.exists(python) and not subprocess.call(
        [python, "-m", "pip", "--version"], stdout=quiet, stderr=quiet
    ):
        return
    if subprocess.call([sys.executable, "-m", "venv", "--clear", VENV]):
        shutil.rmtree(VENV, ignore_errors=True)
        sys.exit(
            "python3 cannot make .venv, see above: on Debian and Ubuntu run `apt install python3-venv`, then try again."
        )


def _has_torch(python):
    program = "import importlib.metadata as m, sys; sys.exit(m.version('torch') != sys.argv[1])"
    version = TORCH.split("==")[1]
    return not subprocess.call([python, "-c", program, version], stderr=subprocess.DEVNULL)


def _run(command):
    if subprocess.call(command):
        room = shutil.disk_usage(ROOT).free / GB
        sys.exit(
            f"The packages were not installed, see above ({room:.1f} GB of the disk are free): try again when the "
            "cause is mended; what was installed stays."
        )


def _write(path, text):
    with open(path, "w") as file:
        file.write(text + "\n")


def main(purpose, kind):
    """Look at the machine, and set up .venv if it can serve."""
    is_new = not os.path.exists(os.path.join(VENV, purpose))
    faults = find_faults(
        sys.version_info[:2],
        platform.libc_ver(),
        platform.machine(),
        count_memory(),
        shutil.disk_usage(ROOT).free,
        ROOM[purpose, kind] if is_new else 0,
    )
    if faults:
        sys.exit("\n".join(faults))
    install(purpose, kind)


if __name__ == "__main__":
    main(*sys.argv[1:])
