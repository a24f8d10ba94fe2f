"""What a service needs, looked for before anything is started: systems, certificates, devices, memory."""

from __future__ import annotations

import importlib.util
import ssl

from models.systems import SYSTEMS
from service.config import Settings
from service.cores import count_cores
from service.launch.ledger import CannotStart
from service.machine_memory import count_memory

GB = 1e9
# Memory below which the systems of this repository do not run: some 15 % less than they take at a start
OTHERS_GB = 1.1  # Ray's processes, Valkey, the launcher and the ingress
REPLICA_GB = 0.45
EDITOR_GB, EDITOR_SYSTEM_GB = 0.6, 0.2  # the editor, and each system in it


def check_systems(settings: Settings) -> None:
    """Check that the module of each system exists; only the replicas load it."""
    for name, loader in settings.systems.items():
        module = loader.partition(":")[0]
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            spec = None
        except Exception as error:  # finding a module runs its parent packages
            reason = f"{type(error).__name__}: {error}"
            raise CannotStart(
                f"the module {module!r} of the model {name!r} cannot be found ({reason})"
            ) from error
        if spec is None:
            raise CannotStart(
                f"there is no module {module!r} to load the model {name!r} from: check --system"
            )


def check_tls(settings: Settings) -> None:
    if settings.tls_cert is None or settings.tls_key is None:
        return
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        # The empty password keeps ssl from asking for one at the terminal.
        context.load_cert_chain(settings.tls_cert, settings.tls_key, password="")
    except ssl.SSLError as error:
        files = f"{settings.tls_cert} and {settings.tls_key}"
        raise CannotStart(
            f"{files} are no certificate and its unencrypted key ({error}): check --tls-cert and --tls-key"
        ) from error
    except OSError as error:
        raise CannotStart(
            f"the files of --tls-cert and --tls-key cannot be read: {error.strerror}"
        ) from error


def check_devices(settings: Settings) -> None:
    """Check each device and dtype on this machine. torch, which takes seconds, is imported only if that is needed."""
    choices = {name: (settings.device_of(name), settings.dtype_of(name)) for name in settings.systems}
    if all(device in ("auto", "cpu") and dtype == "float32" for device, dtype in choices.values()):
        return
    from models.device import DeviceUnavailable, resolve_device, resolve_dtype

    for name, (device, dtype) in choices.items():
        try:
            resolve_dtype(dtype, resolve_device(device))
        except DeviceUnavailable as error:
            raise CannotStart(f"the model {name!r} cannot be loaded: {error}") from error


def check_memory(settings: Settings) -> None:
    """Check that there is the memory that the systems of this repository need."""
    names = [
        name for name, loader in settings.systems.items() if loader.partition("?")[0] in SYSTEMS.values()
    ]
    n_replicas = len(names) * settings.share_cores(count_cores()).min_replicas
    needed_gb = OTHERS_GB + REPLICA_GB * n_replicas + EDITOR_GB + EDITOR_SYSTEM_GB * len(names)
    memory = count_memory()
    if names and memory is not None and memory < needed_gb * GB:
        parts = f"{', '.join(names)} in {n_replicas} processes and an editor"
        advice = "name fewer models with --system or fewer replicas with --replicas, or give Errata more"
        raise CannotStart(
            f"there are {memory / GB:.1f} GB of memory, and {parts} need at least {needed_gb:.1f} GB: {advice}"
        )
