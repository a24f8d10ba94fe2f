"""Which test process runs what, where there are several."""

from pathlib import Path

from xdist.scheduler import LoadFileScheduling

SHARING = {"tests/cluster", "tests/live/closed"}  # folders whose tests share a running service


class ByService(LoadFileScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """Whole files, as `--dist loadfile` gives them out; those that share a running service all to one process."""

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        folder = str(Path(file).parent)
        return folder if folder in SHARING else file
