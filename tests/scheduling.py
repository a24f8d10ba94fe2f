"""The assignment of tests to processes, if there are several."""

from pathlib import Path

from xdist.scheduler import LoadFileScheduling

SHARING = {"tests/cluster", "tests/live/closed"}  # folders whose tests share a running service


class ByService(LoadFileScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """A scheduler of whole files, as `--dist loadfile`; files that share a running service go to one process."""

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        folder = str(Path(file).parent)
        return folder if folder in SHARING else file
