"""`python -m service`: the whole service in one command, for one machine."""

from __future__ import annotations

import logging
import os
import sys

from service.launch.arguments import parse
from service.launch.run import run
from service.launch.trouble import CannotStart


def main() -> int:
    arguments = parse()
    # Once it runs, file descriptors 1 and 2 are the log; the person keeps these.
    with os.fdopen(os.dup(1), "w") as said, os.fdopen(os.dup(2), "w") as complained:
        try:
            run(arguments, lambda text: print(text, file=said, flush=True), said.isatty())
        except CannotStart as error:
            print(f"Errata cannot start: {error}", file=complained)
            return 1
        except Exception as error:
            logging.getLogger(__name__).exception("an error that nobody foresaw")
            where = arguments.var / "log"
            print(f"Errata has failed ({type(error).__name__}: {error}): {where} says more", file=complained)
            return 1
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # all is stopped; what Ray does at exit ends in a crash where a thread of it hangs
