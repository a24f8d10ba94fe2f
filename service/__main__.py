"""`python -m service`: the whole service in one command, for one machine."""

from __future__ import annotations

import os
import sys

from service.launch.arguments import parse
from service.launch.run import run
from service.launch.trouble import CannotStart


def main() -> int:
    with os.fdopen(os.dup(2), "w") as terminal:  # once it runs, file descriptor 2 is the log
        try:
            run(parse(), lambda text: print(text, flush=True))
        except CannotStart as error:
            print(f"Errata cannot start: {error}", file=terminal)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
