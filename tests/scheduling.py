"""The order of tests, and their assignment to processes, if there are several."""

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

SHARING = {"tests/cluster", "tests/live/closed"}  # folders whose tests share a running service
# Tests of one model or of its training, and those of the graph that train its toy
MODEL = re.compile("tests/(?:models/(?:training/)?|service/graph/test_(?=relational))([a-z_]+)[/.]")
RECORD = Path(__file__).with_name("seconds.json")  # what takes long; `--record-seconds` writes it


def find_group(test: str) -> str:
    """Return the file of a test, or the folder or model whose tests stay together."""
    file = test.split("::")[0]
    if model := MODEL.match(file):
        return f"tests/models/{model[1]}"
    folder = str(Path(file).parent)
    return folder if folder in SHARING else file


def sort_tests(items: list[pytest.Item], shortest_first: bool) -> None:
    """Sort groups of tests by the seconds that they took, so that no process has a long one left at the end."""
    seconds = json.loads(RECORD.read_text("utf-8"))
    groups: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        groups[find_group(item.nodeid)].append(item)
    ranks = sorted(groups, key=lambda group: seconds.get(group, 0), reverse=True)
    items[:] = [item for group in (reversed(ranks) if shortest_first else ranks) for item in groups[group]]


class BySharing(LoadFileScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """A scheduler of whole files, as `--dist loadfile`.

    Files that share a running service go to one process, and so do the files of one model, which share what takes long
    to load or to train.
    """

    def _split_scope(self, nodeid: str) -> str:
        return find_group(nodeid)
