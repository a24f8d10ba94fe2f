"""The systems the service can load, by the name a request asks for."""

from collections.abc import Callable, Mapping

from models.system import System


def _nkb() -> System:
    from models.nkb.system import NkbSystem

    return NkbSystem.load()


_SYSTEMS: Mapping[str, Callable[[], System]] = {"nkb": _nkb}
NAMES = tuple(_SYSTEMS)


def load(name: str) -> System:
    """The system, ready to answer. Takes seconds. KeyError for a name not in NAMES."""
    return _SYSTEMS[name]()
