"""The assignment of tests to processes, if there are several."""

import re
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

SHARING = {"tests/cluster", "tests/live/closed"}  # folders whose tests share a running service
# Tests of one model or of its training, and those of the graph that train its toy
MODEL = re.compile("tests/(?:models/(?:training/)?|service/graph/test_(?=relational))([a-z_]+)[/.]")


class BySharing(LoadFileScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """A scheduler of whole files, as `--dist loadfile`.

    Files that share a running service go to one process, and so do the files of one model, which share what takes long
    to load or to train.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        if model := MODEL.match(file):
            return f"tests/models/{model[1]}"
        folder = str(Path(file).parent)
        return folder if folder in SHARING else file
