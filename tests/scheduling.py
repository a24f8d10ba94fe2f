"""Which test process runs what, where there are several."""

from pathlib import Path

from xdist.scheduler import LoadFileScheduling

SHARING = "tests/cluster/"
ALONE = {"test_graph_service.py"}  # with a service of its own


class ByService(LoadFileScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """Whole files, as `--dist loadfile` gives them out; those that share a running service all to one process."""

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        return SHARING if file.startswith(SHARING) and Path(file).name not in ALONE else file
