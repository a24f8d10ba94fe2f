"""How many examples hypothesis tries: few here, all in continuous integration (HYPOTHESIS_EXAMPLES=all)."""

import os
from typing import Any

from hypothesis import settings

N_LOCALLY = 10
TRIES_ALL = os.environ.get("HYPOTHESIS_EXAMPLES") == "all"


def load_profile() -> None:
    """Make the profile that holds where a test names no number of examples."""
    # A machine with other work is not a defect, so that no example has a deadline.
    settings.register_profile("errata", deadline=None, max_examples=100 if TRIES_ALL else N_LOCALLY)
    settings.load_profile("errata")


def examples(max_examples: int, **options: Any) -> settings:
    """Return settings with so many examples, where all are tried."""
    return settings(
        max_examples=max_examples if TRIES_ALL else min(max_examples, N_LOCALLY), deadline=None, **options
    )
