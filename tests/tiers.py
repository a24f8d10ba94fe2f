"""The tiers of the tests, so that a contributor runs in minutes what a change concerns: `pytest --tier=NAME`.

`process` has all that runs in this process, on toys and tiny checkpoints; `models` has shipped checkpoints, parity and
trainings; `cluster` has real Ray, kills, launched processes, deployment tools and hostile inputs. What is in `apart`
has a target of its own. Without the option every file that is named is run.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMES = ("process", "models", "cluster")
PLACES = {
    "models": (
        *("tests/models/training", "tests/models/test_same_bits.py", "tests/parity", "tests/systems"),
        *(
            "tests/models/kbert/test_bars.py",
            "tests/models/nkb/test_system.py",
            "tests/models/scope/test_judge.py",
        ),
        *(
            "tests/models/relational/test_answer.py",
            "tests/models/relational/test_system.py",
            "tests/models/reading",
            "tests/models/ernie_doc/test_convert.py",
        ),
        *("tests/service/graph/test_relational.py", "tests/service/graph/test_fact_order.py"),
        *("tests/service/http/test_backpack.py", "tests/service/http/test_ernie_doc.py"),
        *("tests/service/http/test_thu_ernie.py", "tests/service/editing/test_memories.py"),
        "tests/service/editing/plans/test_two_facts.py",
    ),
    "cluster": ("tests/cluster", "tests/deploy", "tests/fuzz", "tests/service/launch"),
    "apart": ("tests/live", "tests/readme", "tests/console"),
}


def find_tier(path: str) -> str:
    """Return the tier of a file or folder, given by its path from the root."""
    for tier, places in PLACES.items():
        if any(path == place or path.startswith(f"{place}/") for place in places):
            return tier
    return NAMES[0]


def is_left_out(path: Path, tier: str | None) -> bool:
    """Return whether a file belongs to another tier than the one that is run."""
    is_test = path.name.startswith("test_") and path.suffix == ".py" and path.is_relative_to(ROOT)
    return is_test and tier is not None and find_tier(path.relative_to(ROOT).as_posix()) != tier


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=NAMES, help="only the tests of this tier")
